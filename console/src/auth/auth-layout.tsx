import type { ComponentChildren } from 'preact';
import '../app/shell.css';

const LOOPBACK_HOST_PATTERN = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const mustWarnAboutPlainHttp = location.protocol === 'http:' && !LOOPBACK_HOST_PATTERN.test(location.hostname);

/** Warning that the console is served over unencrypted HTTP. It is not shown for a loopback address. */
export function PlainHttpWarning() {
  if (!mustWarnAboutPlainHttp) return null;
  return (
    <p class="banner">
      This page came over plain http: whoever sits on the way can read along. Put a proxy with a certificate in front.
    </p>
  );
}

/** Layout of the pages that are shown before sign-in. */
export function AuthLayout({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <main class="door">
      <PlainHttpWarning />
      <div class="card">
        <div class="brand">
          <img src="./bell.svg" alt="" width={32} height={32} />
          <h1>{title}</h1>
        </div>
        {children}
      </div>
    </main>
  );
}

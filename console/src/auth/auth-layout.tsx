import type { ComponentChildren } from 'preact';
import '../app/shell.css';

const HERE = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const isPlain = location.protocol === 'http:' && !HERE.test(location.hostname);

/** Says so where others may read along. */
export function PlainHttp() {
  if (!isPlain) return null;
  return (
    <p class="banner">
      This page came over plain http: whoever sits on the way can read along. Put a proxy with a certificate in front.
    </p>
  );
}

/** What stands before somebody who has not come in yet. */
export function Door({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <main class="door">
      <PlainHttp />
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

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type ApiCall, ApiCalls } from './api-call.tsx';
import { Icon, type IconName } from './icon.tsx';

type PageProps = {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** API calls that do the same as this screen. */
  readonly calls: readonly ApiCall[];
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
};

/** Layout of a screen: title, actions, API calls, content. */
export function Page({ title, lead, actions, calls, isWide = false, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Carillon`;
  }, [title]);
  // Focus the title, so that screen readers announce the new screen.
  useEffect(() => heading.current?.focus(), []);
  return (
    <div class={`page ${isWide ? 'wide' : ''}`}>
      <header>
        <div>
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        <div class="actions">
          <ApiCalls calls={calls} />
          {actions}
        </div>
      </header>
      {children}
    </div>
  );
}

type EmptyProps = { readonly icon: IconName; readonly title: string; readonly children?: ComponentChildren };

/** Empty state: explains what belongs here and how to create it. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

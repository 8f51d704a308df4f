import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Paging } from '../../../packages/sdk/src/api-types.ts';
import { type ApiCall, ApiCalls } from './api-call.tsx';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

type PageProps = {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** API calls that do the same as the screen, to show to the user. */
  readonly calls: readonly ApiCall[];
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
};

/** Layout of a screen: title, actions, API calls and content. */
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

/** Empty state of a list: explains which records belong there and how to create them. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const count = new Intl.NumberFormat('en');

type PagerProps = {
  readonly paging: Paging;
  /** Singular and plural of the listed records: `['task', 'tasks']`. */
  readonly words: readonly [string, string];
  /** Number of records on this page. */
  readonly shown: number;
  /** Called with the number of the chosen page; the first page is 1. */
  readonly onPage: (page: number) => void;
};

/** Pagination bar: displayed range, total, and buttons for the previous and next page. */
export function Pager({ paging: { offset, limit, total_records }, words, shown, onPage }: PagerProps) {
  const page = Math.floor(offset / limit) + 1;
  const pages = Math.max(1, Math.ceil(total_records / limit));
  const total = `${count.format(total_records)} ${words[total_records === 1 ? 0 : 1]}`;
  const isPart = total_records > shown || page > 1;
  // A page after the last page is empty and has no range.
  const part =
    isPart && shown > 0 ? `${count.format(offset + 1)} – ${count.format(offset + shown)} of ${total}` : total;
  const showPage = (to: number) => {
    onPage(to);
    document.querySelector('main')?.scrollTo(0, 0);
  };
  return (
    <nav class="pager" aria-label="Pages">
      <span class="grow" role="status">
        {part}
      </span>
      {pages > 1 && (
        <>
          <Button disabled={page === 1} onClick={() => showPage(Math.min(page - 1, pages))}>
            Previous
          </Button>
          <span class="number">
            Page {Math.min(page, pages)} of {pages}
          </span>
          <Button disabled={page >= pages} onClick={() => showPage(page + 1)}>
            Next
          </Button>
        </>
      )}
    </nav>
  );
}

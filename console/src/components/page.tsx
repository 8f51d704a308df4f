import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { PagePosition } from '../../../packages/sdk/src/api-types.ts';
import { type ApiCall, ApiCallsButton } from './api-call.tsx';
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
          <ApiCallsButton calls={calls} />
          {actions}
        </div>
      </header>
      {children}
    </div>
  );
}

type EmptyStateProps = { readonly icon: IconName; readonly title: string; readonly children?: ComponentChildren };

/** Empty state of a list: explains which records belong there and how to create them. */
export function EmptyState({ icon, title, children }: EmptyStateProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const numberFormat = new Intl.NumberFormat('en');

type PagerProps = {
  readonly paging: PagePosition;
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
  const pageCount = Math.max(1, Math.ceil(total_records / limit));
  const total = `${numberFormat.format(total_records)} ${words[total_records === 1 ? 0 : 1]}`;
  const isPartial = total_records > shown || page > 1;
  // A page after the last page is empty and has no range.
  const rangeText =
    isPartial && shown > 0
      ? `${numberFormat.format(offset + 1)} – ${numberFormat.format(offset + shown)} of ${total}`
      : total;
  const showPage = (to: number) => {
    onPage(to);
    document.querySelector('main')?.scrollTo(0, 0);
  };
  return (
    <nav class="pager" aria-label="Pages">
      <span class="grow" role="status">
        {rangeText}
      </span>
      {pageCount > 1 && (
        <>
          <Button disabled={page === 1} onClick={() => showPage(Math.min(page - 1, pageCount))}>
            Previous
          </Button>
          <span class="number">
            Page {Math.min(page, pageCount)} of {pageCount}
          </span>
          <Button disabled={page >= pageCount} onClick={() => showPage(page + 1)}>
            Next
          </Button>
        </>
      )}
    </nav>
  );
}

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { PagePosition } from '../../../packages/sdk/src/api-types.ts';
import { type ApiCallExample, ApiCallsButton } from './api-call.tsx';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

type PageProps = {
  readonly title: string;
  readonly intro?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** API calls that are equivalent to the screen; a dialog shows them to the user. */
  readonly calls: readonly ApiCallExample[];
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
};

/** Layout of a screen: title, actions, API calls and content. */
export function Page({ title, intro, actions, calls, isWide = false, children }: PageProps) {
  const headingRef = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Carillon`;
  }, [title]);
  // Focus the title, so that screen readers announce the new screen.
  useEffect(() => headingRef.current?.focus(), []);
  return (
    <div class={`page ${isWide ? 'wide' : ''}`}>
      <header>
        <div>
          <h1 tabIndex={-1} ref={headingRef}>
            {title}
          </h1>
          {intro !== undefined && <p class="lead">{intro}</p>}
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
  readonly nounForms: readonly [string, string];
  /** Number of records on this page. */
  readonly shownCount: number;
  /** Called with the number of the chosen page; the first page is 1. */
  readonly onPageChange: (page: number) => void;
};

/** Pagination bar: displayed range, total, and buttons for the previous and next page. */
export function Pager({ paging: { offset, limit, total_records }, nounForms, shownCount, onPageChange }: PagerProps) {
  const page = Math.floor(offset / limit) + 1;
  const pageCount = Math.max(1, Math.ceil(total_records / limit));
  const totalText = `${numberFormat.format(total_records)} ${nounForms[total_records === 1 ? 0 : 1]}`;
  const isPartialList = total_records > shownCount || page > 1;
  // A page after the last page is empty, so only the total is shown.
  const rangeText =
    isPartialList && shownCount > 0
      ? `${numberFormat.format(offset + 1)} – ${numberFormat.format(offset + shownCount)} of ${totalText}`
      : totalText;
  const showPage = (newPage: number) => {
    onPageChange(newPage);
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

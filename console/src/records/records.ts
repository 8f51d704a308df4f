import { useRef } from 'preact/hooks';
import type { Page, PagePosition } from '../../../packages/sdk/src/api-types.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { currentRoute } from '../app/router.ts';
import { type Query, useQuery } from '../app/use-query.ts';

export const RECORDS_PER_PAGE = 100;

/** Reads the page number (from 1) from the query of the route, and returns the list offset of that page. */
export function readPageOffset(): number {
  const page = Math.trunc(Number(currentRoute.value.query.get('page') ?? 1));
  return page > 1 ? RECORDS_PER_PAGE * (page - 1) : 0;
}

/** One page of a list, with methods for optimistic updates. */
export type PagedRecords<T> = Pick<Query<unknown>, 'errorText' | 'isLoading' | 'reload'> & {
  /** Undefined until the first page is loaded. */
  readonly rows: readonly T[] | undefined;
  readonly paging: PagePosition;
  /** Replaces a record. */
  replace(record: T): void;
  /** Adds a new record at the end. */
  append(record: T): void;
  /** Removes a deleted record. */
  remove(record: T): void;
};

const EMPTY_PAGING = { offset: 0, limit: RECORDS_PER_PAGE, total_records: 0 };

/**
 * Moves the focus to the page title if no element has the focus, because the focused row was deleted. Otherwise
 * keyboard users would start again at the top of the document.
 */
function moveLostFocusToHeading(): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}

/**
 * Loads a page of a list; keeps the previous page visible while the next page is loading.
 *
 * @param inputs the values that `load` depends on: the page is loaded again when they change
 */
export function useRecords<T>(
  load: (signal: AbortSignal) => Promise<Page<T>>,
  inputs: readonly unknown[],
  idOf: (record: T) => string,
): PagedRecords<T> {
  const query = useQuery(load, inputs);
  const latestPage = useRef<Page<T>>(undefined);
  latestPage.current = query.data ?? latestPage.current;
  const updatePage = (updateRows: (rows: readonly T[]) => readonly T[], totalDelta: number) => {
    if (latestPage.current === undefined) return;
    const { paging, data } = latestPage.current;
    latestPage.current = {
      data: updateRows(data),
      paging: { ...paging, total_records: paging.total_records + totalDelta },
    };
    query.setData(latestPage.current);
  };
  return {
    rows: latestPage.current?.data,
    paging: latestPage.current?.paging ?? EMPTY_PAGING,
    errorText: query.errorText,
    isLoading: query.isLoading,
    reload: query.reload,
    replace: (record) => updatePage((rows) => rows.map((row) => (idOf(row) === idOf(record) ? record : row)), 0),
    append: (record) => updatePage((rows) => [...rows, record], 1),
    remove: (record) => {
      updatePage((rows) => rows.filter((row) => idOf(row) !== idOf(record)), -1);
      moveLostFocusToHeading();
    },
  };
}

/** Loads the projects that a select offers: at most 1,000, sorted by name. */
export const useProjects = () =>
  useQuery(async (signal) => (await listFullPage(client.projects, { order: 'projectname' }, signal)).data, []);

/** Loads the clients that a select offers: at most 1,000, sorted by name. */
export const useClients = () =>
  useQuery(async (signal) => (await listFullPage(client.clients, { order: 'clientname' }, signal)).data, []);

import { useRef } from 'preact/hooks';
import type { Page, Paging } from '../../../packages/sdk/src/api-types.ts';
import { place } from '../app/router.ts';
import { type Loaded, useLoaded } from '../app/use-query.ts';

/** How many records a page of a list holds. */
export const PAGE_SIZE = 100;

/** Where the page begins that the address names; 0 for the first. */
export function pageOffset(): number {
  const page = Math.trunc(Number(place.value.query.get('page') ?? 1));
  return page > 1 ? PAGE_SIZE * (page - 1) : 0;
}

/** A page of a list, on which changes are shown as they happen. */
export type Records<T> = Pick<Loaded<unknown>, 'fault' | 'isLoading' | 'reload'> & {
  /** Undefined until something has come. */
  readonly rows: readonly T[] | undefined;
  readonly paging: Paging;
  /** Shows a record as it is now. */
  put(record: T): void;
  /** Shows a new one at the end. */
  append(record: T): void;
  /** Shows that one is gone. */
  drop(record: T): void;
};

const NOTHING = { offset: 0, limit: PAGE_SIZE, total_records: 0 };

/** What had the focus is gone with its row: whoever goes on by keys goes on from the title. */
function keepFocus(): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}

/** Loads a page of a list; while another one comes, what was there stays in view. */
export function useRecords<T>(
  load: (signal: AbortSignal) => Promise<Page<T>>,
  inputs: readonly unknown[],
  idOf: (record: T) => string,
): Records<T> {
  const loaded = useLoaded(load, inputs);
  const latest = useRef<Page<T>>(undefined);
  latest.current = loaded.data ?? latest.current;
  const show = (change: (rows: readonly T[]) => readonly T[], more: number) => {
    if (latest.current === undefined) return;
    const { paging, data } = latest.current;
    latest.current = { data: change(data), paging: { ...paging, total_records: paging.total_records + more } };
    loaded.set(latest.current);
  };
  return {
    rows: latest.current?.data,
    paging: latest.current?.paging ?? NOTHING,
    fault: loaded.fault,
    isLoading: loaded.isLoading,
    reload: loaded.reload,
    put: (record) => show((rows) => rows.map((row) => (idOf(row) === idOf(record) ? record : row)), 0),
    append: (record) => show((rows) => [...rows, record], 1),
    drop: (record) => {
      show((rows) => rows.filter((row) => idOf(row) !== idOf(record)), -1);
      keepFocus();
    },
  };
}

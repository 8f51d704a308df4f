import { pageOf } from './envelope.ts';
import type { CallOptions, QueryValue, Send } from './transport.ts';
import type { Page, Window } from './wire.ts';

/** Filters as they are sent. */
export type Filters = Window & Readonly<Record<string, QueryValue>>;

/** Records on a page when nothing is said, and at most. C7. */
const PAGE_SIZE = 1_000;

/** A noun that can be listed. C7. */
export interface Lists<T, F extends Window> {
  /** One page, in a total and stable order. Errors: `invalid_input` for a malformed filter, `not_permitted`. */
  list(filters?: F, options?: CallOptions): Promise<Page<T>>;
  /**
   * Every record from `offset` on, each once, page after page as they are consumed; `limit` is the size of a page, and
   * `timeoutMs` counts for each page. Records that come or go meanwhile make it miss none that stays, so each may be
   * deleted as it comes; one that moves, by a change of what the list is ordered by, may be missed. Errors: as of `list`.
   */
  each(filters?: F, options?: CallOptions): AsyncGenerator<T, void, undefined>;
}

/**
 * Lists `/{noun}`.
 *
 * @param identity the fields that tell one record from another
 */
export function lists<T, F extends Filters>(send: Send, noun: string, ...identity: readonly (keyof T)[]): Lists<T, F> {
  const idOf = (record: T) => identity.map((name) => record[name]).join(' ');
  async function page(filters: Filters, options?: CallOptions): Promise<Page<T>> {
    return pageOf(await send({ ...options, method: 'GET', path: [noun], query: filters }));
  }
  return {
    list: (filters, options) => page(filters ?? {}, options),
    async *each(filters, options) {
      const { offset: first = 0, limit } = filters ?? {};
      // From the second page on there is one more: the first on it is known, or else the list has shrunk before it.
      const further = limit === undefined ? {} : { limit: limit + 1 };
      const given = new Set<string>();
      for (let offset = first, isFirst = true; ; isFirst = false) {
        const { paging, data } = await page({ ...filters, ...(isFirst ? {} : further), offset }, options);
        if (offset > first && !data.slice(0, 1).some((record) => given.has(idOf(record)))) {
          offset = Math.max(first, offset - (limit ?? PAGE_SIZE));
          continue;
        }
        for (const record of data) {
          options?.signal?.throwIfAborted();
          if (given.has(idOf(record))) continue;
          given.add(idOf(record));
          yield record;
        }
        const next = Math.max(first, offset + data.length - 1);
        if (offset + data.length >= paging.total_records || (next === offset && !isFirst)) return;
        offset = next;
      }
    },
  };
}

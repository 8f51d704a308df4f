import type { Page, Window } from './api-types.ts';
import { behindPage, pageOf } from './response-body.ts';
import type { CallOptions, QueryValue, Send } from './transport.ts';

/** Filters and paging parameters of a list. */
export type Filters = Window & Readonly<Record<string, QueryValue>>;

/** A resource that can be listed. C7. */
export interface Lists<T, F extends Window> {
  /**
   * One page, in a total and stable order. Errors: `invalid_input` for a malformed filter, `not_permitted`.
   *
   * @example
   * ```ts
   * const { data, next } = await carillon.events.list({ from: '20270301', limit: 50 });
   * const following = await carillon.events.list({ from: '20270301', limit: 50, after: next });
   * ```
   */
  list(filters?: F, options?: CallOptions): Promise<Page<T>>;
  /**
   * All records from `offset` on, each once. Pages of `limit` records are loaded as they are consumed;
   * `timeoutMs` applies to each page. No record is missed while others are added or deleted, so each may be
   * deleted in the loop; a record that moves in the list's order may be missed. Errors: as for `list`.
   *
   * @example
   * ```ts
   * for await (const event of carillon.events.each({ from: '20270301' })) {
   *   showEvent(event.event_name, event.start_date);
   * }
   * ```
   */
  each(filters?: F, options?: CallOptions): AsyncGenerator<T, void, undefined>;
}

/**
 * Lists `/{resource}`.
 *
 * @param identity the fields that identify a record
 */
export function lists<T, F extends Filters>(
  send: Send,
  resourceType: string,
  ...identity: readonly (keyof T)[]
): Lists<T, F> {
  const idOf = (record: T) => identity.map((name) => record[name]).join(' ');
  const page = (filters: Filters, options?: CallOptions) =>
    send({ ...options, method: 'GET', path: [resourceType], query: filters });
  return {
    list: async (filters, options) => pageOf(await page(filters ?? {}, options)),
    async *each(filters, options) {
      const yielded = new Set<string>();
      for (let next: Filters | undefined = filters ?? {}; next !== undefined; ) {
        const response = await page(next, options);
        for (const record of pageOf<T>(response).data) {
          options?.signal?.throwIfAborted();
          if (yielded.has(idOf(record))) continue;
          yielded.add(idOf(record));
          yield record;
        }
        const nextPage = behindPage(response);
        next = nextPage && { ...filters, ...nextPage };
      }
    },
  };
}

import type { Page, Window } from './api-types.ts';
import { behindPage, pageOf } from './response-body.ts';
import type { CallOptions, QueryValue, Send } from './transport.ts';

/** Filters as they are sent. */
export type Filters = Window & Readonly<Record<string, QueryValue>>;

/** A noun that can be listed. C7. */
export interface Lists<T, F extends Window> {
  /** One page, in a total and stable order. Errors: `invalid_input` for a malformed filter, `not_permitted`. */
  list(filters?: F, options?: CallOptions): Promise<Page<T>>;
  /**
   * Every record from `offset` on, each once, page after page as they are consumed; `limit` is the size of a page, and
   * `timeoutMs` counts for each page. Each page begins behind the last record of the one before, so whatever comes or goes
   * meanwhile, none that stays is missed, and each may be deleted as it comes; one that moves, by a change of what the list
   * is ordered by, may be missed. Errors: as of `list`.
   */
  each(filters?: F, options?: CallOptions): AsyncGenerator<T, void, undefined>;
}

/**
 * Lists `/{noun}`.
 *
 * @param identity the fields that tell one record from another
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
      const given = new Set<string>();
      for (let next: Filters | undefined = filters ?? {}; next !== undefined; ) {
        const answer = await page(next, options);
        for (const record of pageOf<T>(answer).data) {
          options?.signal?.throwIfAborted();
          if (given.has(idOf(record))) continue;
          given.add(idOf(record));
          yield record;
        }
        const behind = behindPage(answer);
        next = behind && { ...filters, ...behind };
      }
    },
  };
}

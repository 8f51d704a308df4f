import type { Page, PageWindow } from '../../../packages/sdk/src/api-types.ts';
import type { ListMethods } from '../../../packages/sdk/src/resource-methods.ts';
import type { CallOptions } from '../../../packages/sdk/src/transport.ts';

/** Maximum and default page size of the API (C7). */
const MAX_PAGE_SIZE = 1_000;

/**
 * Lists up to `limit` records as one page. If the records are long, the API ends a page early (C7); this function then
 * requests the remaining records.
 */
export async function listFullPage<T, Filters extends PageWindow>(
  resource: Pick<ListMethods<T, Filters>, 'list'>,
  filters: Filters,
  signal: AbortSignal,
): Promise<Page<T>> {
  const { limit = MAX_PAGE_SIZE } = filters;
  const options: CallOptions = { signal };
  const { paging, ...first } = await resource.list(filters, options);
  const records = [...first.data];
  for (let { next: nextCursor } = first; nextCursor !== undefined && records.length < limit; ) {
    const page = await resource.list({ ...filters, limit: limit - records.length, after: nextCursor }, options);
    records.push(...page.data);
    nextCursor = page.next;
  }
  return { paging: { ...paging, limit }, data: records };
}

import type { ZObject } from 'zapier-platform-core';

type ListQuery = Readonly<Record<string, string | number>> & { readonly limit: number };

/**
 * Reads up to `limit` records of a list, over several pages if needed. A page may have fewer records than its limit, so
 * only the Link header shows whether another page follows (C7).
 */
export async function fetchRecords(z: ZObject, url: string, query: ListQuery): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = [];
  let after: string | undefined;
  do {
    const limit = query.limit - records.length;
    const params = { ...query, limit, ...(after === undefined ? {} : { after }) };
    const answer = await z.request({ url, params });
    records.push(...answer.data.data);
    after = nextCursorIn(answer.getHeader('link'));
  } while (after !== undefined && records.length < query.limit);
  return records;
}

function nextCursorIn(link: string | undefined): string | undefined {
  const [, address] = /<([^<>]*)>; *rel="next"/.exec(link ?? '') ?? [];
  return address === undefined ? undefined : (new URL(address).searchParams.get('after') ?? undefined);
}

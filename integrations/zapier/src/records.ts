import type { ZObject } from 'zapier-platform-core';

type Wanted = Readonly<Record<string, string | number>> & { readonly limit: number };

/**
 * As many records of a list as are wanted, over as many pages as that takes. C7: a page may have fewer records than its
 * limit, so that its Link alone says whether another one follows.
 */
export async function recordsAt(z: ZObject, url: string, wanted: Wanted): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = [];
  let after: string | undefined;
  do {
    const limit = wanted.limit - records.length;
    const params = { ...wanted, limit, ...(after === undefined ? {} : { after }) };
    const answer = await z.request({ url, params });
    records.push(...answer.data.data);
    after = nextIn(answer.getHeader('link'));
  } while (after !== undefined && records.length < wanted.limit);
  return records;
}

function nextIn(link: string | undefined): string | undefined {
  const [, address] = /<([^<>]*)>; *rel="next"/.exec(link ?? '') ?? [];
  return address === undefined ? undefined : (new URL(address).searchParams.get('after') ?? undefined);
}

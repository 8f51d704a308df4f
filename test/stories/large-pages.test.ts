import assert from 'node:assert/strict';
import { after, test as plainTest } from 'node:test';
import { fillings, isList } from '../harness/largest.ts';
import { insertRows } from '../harness/plain-row.ts';
import { consoleRows, publicRows } from '../harness/rows.ts';
import type { Json, Person } from '../harness/service.ts';
import { stores } from '../harness/stores.ts';

// However large its records are, no page of a list is larger than the limit, and all of them are reached by its Link.

const MAX_PAGE_BYTES = 8 * 2 ** 20;

const lists = [...publicRows, ...consoleRows].filter(isList);

plainTest('C7 every list is filled with the largest records here', () => {
  assert.deepEqual(Object.keys(fillings).sort(), lists.map(({ path }) => path).sort());
});

/** What tells one record of a list from another. */
const identityOf = (path: string, record: Json): string => {
  if (path === '/hours') return `${record.hook_id} ${record.hour}`;
  const own = path === '/time_entries' ? 'entry_id' : `${path.slice(1, -1)}_id`;
  return String(record[own] ?? record.id);
};

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  /** An account with a list of the largest records that there can be, and who reads it. */
  async function filled(path: string) {
    const owner = await carillon.account(`${path.slice(1).replace('_', '-')}.test`);
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', owner.domain)
      .executeTakeFirstOrThrow();
    const first = 1_000_000 * (1 + lists.findIndex((list) => list.path === path));
    const place = { accountId: account_id, userId: Number(owner.userId), now: Date.now(), first };
    for (const [table, rows] of fillings[path]?.(place) ?? []) await insertRows(carillon.store, table, rows);
    return owner;
  }

  /** Follows Link from the first page to the end. */
  async function pagesOf(who: Pick<Person, 'headers'>, path: string) {
    const pages: { readonly bytes: number; readonly json: Json }[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const { status, text, json, headers } = await carillon.call(who, 'GET', next);
      assert.equal(status, 200, text);
      pages.push({ bytes: Buffer.byteLength(text), json });
      const [, link] = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
      next = link?.slice(carillon.baseUrl.length);
      assert.ok(pages.length <= 200, 'it ends');
    }
    return pages;
  }

  for (const { path } of lists) {
    test(`C7 no page of ${path} is larger than the limit, and Link leads to every record`, async () => {
      const owner = await filled(path);
      const isPublic = publicRows.some((row) => row.path === path);
      const who = isPublic ? owner : await carillon.signIn(owner);
      const pages = await pagesOf(who, `${isPublic ? '/v2' : '/console/api'}${path}`);
      const ids = pages.flatMap(({ json }) => json.data.map((record: Json) => identityOf(path, record)));
      assert.equal(new Set(ids).size, ids.length, 'each once');
      let offset = 0;
      for (const [index, { bytes, json }] of pages.entries()) {
        const { data, paging } = json;
        assert.ok(bytes <= MAX_PAGE_BYTES, `${bytes} bytes in page ${index} with ${data.length} records`);
        // A page that ends early says how many records it has, so that offset and limit lead on, too.
        const limit = index < pages.length - 1 ? data.length : 1_000;
        assert.deepEqual(paging, { offset, limit, total_records: ids.length });
        offset += data.length;
      }
    });
  }
}

import assert from 'node:assert/strict';
import { after, test as plainTest } from 'node:test';
import { writeListing } from '../../src/http/routes/list-response.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { type Caller, permissions as everyPermission } from '../../src/permissions.ts';
import { AccountView } from '../../src/store/account-scope.ts';
import { fillings, isList, type Place } from '../kit/largest.ts';
import { insertRows } from '../kit/plain-row.ts';
import { Weighed } from '../kit/read-weight.ts';
import { consoleRows, publicRows } from '../kit/rows.ts';
import type { Json, Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

// No page of a list exceeds the byte limit, however large its records are, and Link leads to all of them.

const MAX_PAGE_BYTES = 8 * 2 ** 20;

/** Maximum data read in one event-loop iteration. On SQLite it blocks all other requests for a few milliseconds. */
const MAX_CHARACTERS_PER_ITERATION = 3 * 2 ** 20;
const MAX_ROWS_PER_ITERATION = 6_000;

const lists = [...publicRows, ...consoleRows].filter(isList);

plainTest('C7 there are records of maximum size for every list', () => {
  assert.deepEqual(Object.keys(fillings).sort(), lists.map(({ path }) => path).sort());
});

/** The id of a record. */
const identityOf = (path: string, record: Json): string => {
  if (path === '/hours') return `${record.hook_id} ${record.hour}`;
  const own = path === '/time_entries' ? 'entry_id' : `${path.slice(1, -1)}_id`;
  return String(record[own] ?? record.id);
};

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  /** Creates an account with a list of records of maximum size. */
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
    return { owner, place };
  }

  /** Follows Link from the first page to the last. */
  async function pagesOf(who: Pick<Person, 'headers'>, path: string) {
    const pages: { readonly bytes: number; readonly json: Json }[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const { status, text, json, headers } = await carillon.call(who, 'GET', next);
      assert.equal(status, 200, text);
      pages.push({ bytes: Buffer.byteLength(text), json });
      const [, link] = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
      next = link?.slice(carillon.baseUrl.length);
      assert.ok(pages.length <= 200, 'the pages end');
    }
    return pages;
  }

  /** Reads the first page as the service does, and returns the maximum read in one event-loop iteration. */
  async function measureFirstPage(row: Route, { accountId, userId, now }: Place) {
    const counter = new Weighed();
    const view = new AccountView(counter.over(carillon.store.read), accountId, now);
    const permitted = { permissions: new Set(everyPermission), expiresAt: null };
    const caller: Caller = { accountId, userId, role: 'owner', keyId: 1, sessionId: 0, ...permitted };
    if (row.mode !== 'read') throw new Error('not a read route');
    const { listing } = await row.run(view, caller, { ids: {}, query: {}, body: undefined });
    if (listing === undefined) throw new Error(`${row.path} is not a listing`);
    const largePages = { enter: async () => () => undefined };
    await writeListing(listing, {
      accountId,
      largePages,
      isGone: () => false,
      hasRoom: () => true,
      mustHaveRoom: () => undefined,
    });
    return counter.most;
  }

  for (const row of lists) {
    const { path } = row;
    test(`C7 no page of ${path} is larger than the limit, Link leads to every record, and no event-loop iteration reads too much`, async () => {
      const { owner, place } = await filled(path);
      const isPublic = publicRows.some((one) => one.path === path);
      const who = isPublic ? owner : await carillon.signIn(owner);
      const pages = await pagesOf(who, `${isPublic ? '/v2' : '/console/api'}${path}`);
      const ids = pages.flatMap(({ json }) => json.data.map((record: Json) => identityOf(path, record)));
      assert.equal(new Set(ids).size, ids.length, 'each record occurs once');
      let offset = 0;
      for (const [index, { bytes, json }] of pages.entries()) {
        const { data, paging } = json;
        assert.ok(bytes <= MAX_PAGE_BYTES, `${bytes} bytes in page ${index} with ${data.length} records`);
        // A page that ends early has its number of records as the limit, so that offset pagination also
        // continues correctly.
        const limit = index < pages.length - 1 ? data.length : 1_000;
        assert.deepEqual(paging, { offset, limit, total_records: ids.length });
        offset += data.length;
      }
      const { characters, rows } = await measureFirstPage(row, place);
      assert.ok(characters <= MAX_CHARACTERS_PER_ITERATION, `${characters} characters in one iteration`);
      assert.ok(rows <= MAX_ROWS_PER_ITERATION, `${rows} rows in one iteration`);
    });
  }
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listFullPage } from '../../console/src/app/full-page-navigation.ts';
import type { Page, PageWindow } from '../../packages/sdk/src/api-types.ts';

/** Creates a list that ends each page after `maxPerPage` records and keeps the filters of each request. */
function createPagedList(count: number, maxPerPage: number) {
  const requests: PageWindow[] = [];
  return {
    requests,
    async list(filters: PageWindow = {}): Promise<Page<number>> {
      requests.push(filters);
      const { offset = 0, after, limit = 1_000 } = filters;
      const first = after === undefined ? offset : Number(after);
      const end = Math.min(count, first + Math.min(limit, maxPerPage));
      const data = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
      const paging = { offset, limit: data.length, total_records: count };
      return end < count ? { paging, data, next: `${end}` } : { paging, data };
    },
  };
}

const { signal } = new AbortController();

test('C7 wholePage fetches the rest of a page that the server ends early', async () => {
  const list = createPagedList(250, 40);
  const page = await listFullPage(list, { limit: 100, offset: 100 }, signal);
  assert.deepEqual(
    page.data,
    Array.from({ length: 100 }, (_, index) => 100 + index),
  );
  assert.deepEqual(page.paging, { offset: 100, limit: 100, total_records: 250 });
  assert.deepEqual(
    list.requests.map(({ limit, after }) => [limit, after]),
    [
      [100, undefined],
      [60, '140'],
      [20, '180'],
    ],
  );
});

test('C7 wholePage stops at the end of the list, or at 1,000 records', async () => {
  assert.equal((await listFullPage(createPagedList(250, 40), { limit: 100, offset: 200 }, signal)).data.length, 50);
  assert.equal((await listFullPage(createPagedList(2_000, 300), {}, signal)).data.length, 1_000);
  const whole = createPagedList(3, 40);
  assert.deepEqual((await listFullPage(whole, {}, signal)).data, [0, 1, 2]);
  assert.equal(whole.requests.length, 1);
});

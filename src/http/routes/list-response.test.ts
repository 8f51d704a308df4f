import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createTestClock } from '../../../test/kit/clock.ts';
import { burstDetector } from '../server/connection-burst.ts';
import {
  createLargePageSemaphore,
  loadFirstSlice,
  MAX_PAGE_BYTES,
  type SerializePageDeps,
  serializePage,
} from './list-response.ts';
import { type Page, type PageSlice, waitForNextIteration, waitForSliceTurn } from './pagination.ts';

type Row = { readonly id: number; readonly text: string };

const rowsFrom = (first: number, count: number, text: string): readonly Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, text }));

const sliceOf = (rows: readonly Row[]): PageSlice<Row> => ({
  rows,
  cursorAfter: (index) => `behind ${rows[index]?.id}`,
});

/** Creates a page with lazy slices, and counts the slices that were loaded. */
function lazyPage(slices: readonly (readonly Row[])[], next?: string) {
  const seen = { loaded: 0, isClosed: false };
  async function* load() {
    try {
      for (const rows of slices) {
        seen.loaded += 1;
        yield sliceOf(rows);
      }
    } finally {
      seen.isClosed = true;
    }
  }
  return { page: { slices: load(), total: 1_000, next }, seen };
}

const paging = { offset: 10, limit: 100 };

async function serialize(page: Page<Row>, deps: Partial<SerializePageDeps> = {}) {
  const listing = await loadFirstSlice(page, paging, (row: Row) => row);
  const free = { acquire: async () => () => undefined };
  const { body, nextPageRequest } = await serializePage(listing, {
    accountId: 1,
    largePageSemaphore: free,
    isRequestOver: () => false,
    responseCapacity: { hasCapacity: () => true, requireCapacity: () => undefined },
    ...deps,
  });
  const text = body.toString();
  return { text, json: JSON.parse(text), next: nextPageRequest };
}

/** Counts the iterations of the event loop until it is stopped. */
function countIterations() {
  const counted = { iterations: 0, stop: () => clearImmediate(next) };
  const count = () => {
    counted.iterations += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  return counted;
}

const MIB = 2 ** 20;

test('C7 a page that fits has the requested limit', async () => {
  const rows = rowsFrom(1, 3, 'é"\u0001');
  const { json, next } = await serialize({ slices: [sliceOf(rows)], total: 40, next: 'behind 3' });
  assert.deepEqual(json, { paging: { offset: 10, limit: 100, total_records: 40 }, data: rows });
  assert.deepEqual(next, { offset: 110, limit: 100, after: 'behind 3' });
  const last = await serialize({ slices: [sliceOf(rows)], total: 13 });
  assert.equal(last.next, undefined);
  assert.deepEqual((await serialize({ slices: [], total: 0 })).json.data, []);
});

test('C7 a page ends before the record that does not fit, and the next one begins with it', async () => {
  const rows = rowsFrom(1, 20, '€'.repeat(MIB / 3));
  const { page, seen } = lazyPage([rows.slice(0, 3), rows.slice(3, 6), rows.slice(6, 15), rows.slice(15)], 'behind 20');
  const { text, json, next } = await serialize(page);
  assert.ok(Buffer.byteLength(text) <= MAX_PAGE_BYTES);
  assert.deepEqual(json.data, rows.slice(0, 7));
  assert.deepEqual(json.paging, { offset: 10, limit: 7, total_records: 1_000 });
  assert.deepEqual(next, { offset: 17, limit: 100, after: 'behind 7' });
  assert.deepEqual(seen, { loaded: 3, isClosed: true });
});

test('C7 a page ends between two slices, too', async () => {
  const rows = rowsFrom(1, 16, 'x'.repeat(MIB - 100));
  const { page } = lazyPage([rows.slice(0, 8), rows.slice(8)]);
  const { json, next } = await serialize(page);
  assert.equal(json.data.length, 8);
  assert.deepEqual(next, { offset: 18, limit: 100, after: 'behind 8' });
});

test('C7 a page has at least one record of any size', async () => {
  const huge = rowsFrom(1, 1, 'x'.repeat(MAX_PAGE_BYTES * 2));
  const { page } = lazyPage([huge, rowsFrom(2, 3, 'small')], 'behind 4');
  const { json, next } = await serialize(page);
  assert.deepEqual([json.data.length, json.paging.limit], [1, 1]);
  assert.deepEqual(next, { offset: 11, limit: 100, after: 'behind 1' });
  const alone = await serialize(lazyPage([huge]).page);
  assert.deepEqual([alone.json.paging.limit, alone.next], [100, undefined]);
});

test('the event loop runs an iteration for every half megabyte that is serialized', async () => {
  const { page } = lazyPage([rowsFrom(1, 60, 'x'.repeat(100_000))]);
  const counted = countIterations();
  await serialize(page);
  counted.stop();
  assert.ok(counted.iterations >= 10, `${counted.iterations} turns`);
});

test('a page waits for a slot before it loads more than a megabyte, and releases it', async () => {
  const slot = Promise.withResolvers<void>();
  const asked: number[] = [];
  const gone: string[] = [];
  const largePageSemaphore = {
    async acquire(accountId: number) {
      asked.push(accountId);
      await slot.promise;
      return () => void gone.push('left');
    },
  };
  const small = lazyPage([rowsFrom(1, 3, 'small'), rowsFrom(4, 3, 'small')]);
  await serialize(small.page, { largePageSemaphore });
  assert.deepEqual(asked, []);
  const known = lazyPage([rowsFrom(1, 1, 'small')]);
  const waiting = serialize({ ...known.page, isLarge: true }, { largePageSemaphore, accountId: 3 });
  const large = lazyPage([rowsFrom(1, 1, 'x'.repeat(MIB)), rowsFrom(2, 1, 'x'.repeat(MIB)), rowsFrom(3, 1, 'x')]);
  const writing = serialize(large.page, { largePageSemaphore, accountId: 7 });
  const counted = countIterations();
  while (asked.length < 2 || counted.iterations < 3) await new Promise((resolve) => setImmediate(resolve));
  counted.stop();
  assert.deepEqual([large.seen.loaded, known.seen.loaded], [1, 0], 'what is known to be large loads nothing');
  slot.resolve();
  assert.equal((await writing).json.data.length, 3);
  assert.equal((await waiting).json.data.length, 1);
  assert.deepEqual(
    [asked, gone],
    [
      [3, 7],
      ['left', 'left'],
    ],
  );
});

test('the slot is released when a slice cannot be loaded', async () => {
  const gone: string[] = [];
  const largePageSemaphore = { acquire: async () => () => void gone.push('left') };
  async function* failing() {
    yield sliceOf(rowsFrom(1, 1, 'x'.repeat(MIB)));
    throw new Error('the database is away');
  }
  await assert.rejects(serialize({ slices: failing(), total: 9 }, { largePageSemaphore }), /is away/);
  assert.deepEqual(gone, ['left']);
});

test('a page whose client has disconnected is not loaded further', async () => {
  const { page, seen } = lazyPage([rowsFrom(1, 1, 'a'), rowsFrom(2, 1, 'b'), rowsFrom(3, 1, 'c')]);
  await serialize(page, { isRequestOver: () => true });
  assert.deepEqual(seen, { loaded: 1, isClosed: true });
});

test('a large page is not loaded for a caller with too many unread bytes, before or after it has a slot', async () => {
  const gone: string[] = [];
  const isGone: boolean[] = [];
  const largePageSemaphore = {
    async acquire(_: number, isOver: () => boolean) {
      isGone.push(isOver());
      return () => void gone.push('left');
    },
  };
  const { page, seen } = lazyPage([rowsFrom(1, 1, 'x'.repeat(MIB)), rowsFrom(2, 1, 'x'.repeat(MIB))]);
  const refuse = () => {
    throw new Error('no room');
  };
  await assert.rejects(
    serialize(page, { largePageSemaphore, responseCapacity: { hasCapacity: () => false, requireCapacity: refuse } }),
    /no room/,
  );
  assert.deepEqual([isGone, gone, seen], [[true], ['left'], { loaded: 1, isClosed: true }]);
});

test('an event-loop iteration runs one slice, in order of request', async () => {
  const made: string[] = [];
  const respond = async (name: string) => {
    for (const part of [1, 2, 3]) {
      await waitForSliceTurn();
      made.push(`${name}${part}`);
    }
  };
  const responses = Promise.all(['a', 'b'].map(respond));
  const counts: number[] = [];
  while (made.length < 6) {
    await waitForNextIteration();
    counts.push(made.length);
  }
  await responses;
  assert.deepEqual(made, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  const steps = counts.map((count, index) => count - (counts[index - 1] ?? 0));
  assert.ok(
    steps.every((step) => step <= 1),
    String(steps),
  );
  await waitForSliceTurn();
  assert.equal(made.length, 6);
});

test('several iterations pass between two slices, because each accepts only one connection', async () => {
  let iterations = 0;
  let isOver = false;
  const count = async () => {
    while (!isOver) {
      await waitForNextIteration();
      iterations += 1;
    }
  };
  const counting = count();
  await waitForSliceTurn();
  const before = iterations;
  for (let slice = 0; slice < 4; slice += 1) await waitForSliceTurn();
  isOver = true;
  await counting;
  assert.ok(iterations - before >= 28, `${iterations - before} iterations for 4 slices`);
});

test('a slice waits while connections are being accepted, and one that waited too long runs alone', async () => {
  const made: number[] = [];
  const slices = [1, 2, 3].map((slice) => waitForSliceTurn().then(() => made.push(slice)));
  const startedAt = performance.now();
  const counts: number[] = [];
  while (made.length < 3) {
    burstDetector.recordConnection();
    await waitForNextIteration();
    if (performance.now() - startedAt < 20) assert.deepEqual(made, []);
    counts.push(made.length);
  }
  await Promise.all(slices);
  assert.ok(counts.every((count, index) => count - (counts[index - 1] ?? 0) <= 1));
});

/** Creates the semaphore for large pages, and records the order in which requests get a permit. */
function openPermits() {
  const clock = createTestClock();
  const pages = createLargePageSemaphore(clock);
  const began: string[] = [];
  const failed: string[] = [];
  const leaving = new Map<string, () => void>();
  const gone = new Set<string>();
  const acquire = (name: string, accountId: number) =>
    pages
      .acquire(accountId, () => gone.has(name))
      .then(
        (leave) => {
          began.push(name);
          leaving.set(name, leave);
        },
        (error: { code: string }) => void failed.push(`${name} ${error.code}`),
      );
  const leave = async (name: string) => {
    leaving.get(name)?.();
    await turn();
  };
  return { clock, began, failed, gone, acquire, leave };
}

test('four large pages are loaded concurrently, at most two of one account', async () => {
  const { began, acquire, leave } = openPermits();
  for (const name of ['a1', 'a2', 'a3']) void acquire(name, 1);
  for (const name of ['b1', 'b2', 'b3']) void acquire(name, 2);
  void acquire('c1', 3);
  await turn();
  assert.deepEqual(began, ['a1', 'a2', 'b1', 'b2']);
  await leave('a1');
  assert.deepEqual(began.slice(4), ['c1']);
  await leave('b1');
  await leave('b2');
  assert.deepEqual(began.slice(5), ['a3', 'b3']);
});

test('accounts are served round-robin, regardless of how many pages each requests', async () => {
  const { began, acquire, leave } = openPermits();
  for (let index = 1; index <= 6; index += 1) void acquire(`a${index}`, 1);
  void acquire('x1', 8);
  void acquire('x2', 9);
  await turn();
  assert.deepEqual(began, ['a1', 'a2', 'x1', 'x2']);
  void acquire('b1', 2);
  void acquire('c1', 3);
  await leave('x1');
  assert.deepEqual(began.at(-1), 'b1', 'account 1 has its two');
  await leave('a1');
  await leave('a2');
  assert.deepEqual(began.slice(5), ['c1', 'a3'], 'an account that had its turn is behind the others');
});

test('a page that has waited for more than ten seconds is rejected, and so is one whose client has disconnected', async () => {
  const { clock, began, failed, gone, acquire, leave } = openPermits();
  for (const name of ['a1', 'a2', 'late', 'gone', 'next']) {
    void acquire(name, 1);
    if (name === 'late') await clock.advance(10_001);
  }
  gone.add('gone');
  await turn();
  await leave('a1');
  assert.deepEqual(began, ['a1', 'a2', 'next']);
  assert.deepEqual(failed, ['late overloaded', 'gone overloaded']);
});

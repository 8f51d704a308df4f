import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { atEnd, type Cleanup } from '../../test/kit/cleanup.ts';
import { silentProgress } from '../../test/kit/service/export-import.ts';
import { type Script, say, scriptedSource } from '../../test/kit/service/import-from-api.ts';
import { temporaryFolder } from '../../test/kit/service/service.ts';
import { systemClock } from '../clock.ts';
import { readAll } from './read.ts';
import { createSource } from './source.ts';
import { Work } from './work-file.ts';

const records = (count: number) => Array.from({ length: count }, (_, index) => ({ event_id: String(index + 1) }));

/** Reads a scripted source once, into its own work file. */
async function read(t: Cleanup, script: Partial<Script>) {
  const { base, requests } = await scriptedSource(t, { lists: {}, singles: {}, ...script });
  const silent = () => undefined;
  const source = createSource({ base, headers: {}, clock: systemClock, rate: 1_000, say: silent });
  const work = new Work(join(temporaryFolder(t), 'work'));
  atEnd(t, () => work.close());
  const reading = readAll({ source, work, progress: silentProgress, say: silent, readings: 1 });
  const pages = () => requests.flatMap(({ address }) => (address.includes('events?') ? [address.split('?')[1]] : []));
  const kept = () => work.count(`select count(*) from records where noun = 'events'`);
  return { reading, pages, kept };
}

test('a list ends with a page that is not full, whatever its total; the next page may be 404', async (t) => {
  const lists = { events: records(2_500) };
  const low = await read(t, { lists, totalOf: () => 1_000 });
  await low.reading;
  assert.equal(low.kept(), 2_500);
  const short = await read(t, { lists, most: 500, totalOf: () => 500 });
  await short.reading;
  assert.deepEqual([short.kept(), short.pages().at(-1)], [2_500, 'limit=1000&offset=2500']);
  const behind = await read(t, {
    lists,
    totalOf: () => undefined,
    before(url, answer) {
      const isBehind = url.searchParams.get('offset') === '2500';
      if (isBehind) say(answer, 404, {});
      return isBehind;
    },
  });
  await behind.reading;
  assert.equal(behind.kept(), 2_500);
  // A source that repeats the same full page forever: reading ends.
  const same = await read(t, {
    before(url, answer) {
      if (!url.pathname.endsWith('events')) return false;
      say(answer, 200, { paging: { limit: 3, total_records: 3 }, data: records(3) });
      return true;
    },
  });
  await same.reading;
  assert.equal(same.pages().length, 2);
});

test('C7 short pages, as of a source with a limit in bytes, are read to the end of the list', async (t) => {
  const all = records(250);
  const { reading, pages, kept } = await read(t, {
    lists: { events: all },
    before(url, answer) {
      if (!url.pathname.endsWith('events')) return false;
      const offset = Number(url.searchParams.get('offset'));
      const data = all.slice(offset, offset + 1 + (offset % 90));
      say(answer, 200, { paging: { offset, limit: data.length, total_records: all.length }, data });
      return true;
    },
  });
  await reading;
  assert.equal(kept(), 250);
  assert.deepEqual(
    pages().slice(0, 4),
    [0, 1, 3, 7].map((offset) => `limit=1000&offset=${offset}`),
  );
});

test('if a page is too large, smaller ones are read', async (t) => {
  const { reading, pages, kept } = await read(t, {
    lists: { events: records(300) },
    before(url, answer) {
      const isLarge = url.pathname.endsWith('events') && Number(url.searchParams.get('limit')) > 100;
      if (isLarge) answer.writeHead(200).end(Buffer.alloc(65 << 20, ' '));
      return isLarge;
    },
  });
  await reading;
  assert.equal(kept(), 300);
  assert.deepEqual(pages().slice(0, 3), ['limit=1000&offset=0', 'limit=100&offset=0', 'limit=100&offset=100']);
});

test('a key revoked during reading is not treated as a key without permission', async (t) => {
  let isRevoked = false;
  const { reading } = await read(t, {
    lists: { events: records(1) },
    singles: { company: { company_id: '1' } },
    before(url, answer) {
      isRevoked ||= url.pathname.endsWith('projects');
      if (isRevoked) say(answer, 401, {});
      return isRevoked;
    },
  });
  await assert.rejects(reading, /The source showed company before, and returns 401 now\./);
});

test('a record that cannot be stored is rejected in one line', async (t) => {
  const nested = JSON.parse('['.repeat(1_500) + ']'.repeat(1_500));
  const { reading } = await read(t, { lists: { events: [{ event_id: '1', nested }] } });
  await assert.rejects(reading, /a record must not nest a thousand deep/);
});

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { atEnd, type Cleanup } from '../../test/kit/cleanup.ts';
import { silentProgress } from '../../test/kit/service/export-import.ts';
import { respond, type ScriptedService, startScriptedSource } from '../../test/kit/service/import-from-api.ts';
import { createTemporaryFolder } from '../../test/kit/service/service.ts';
import { type Clock, systemClock } from '../clock.ts';
import { readSource } from './read.ts';
import { createSourceClient, ResponseTooLarge } from './source.ts';
import { WorkFile } from './work-file.ts';

const records = (count: number) => Array.from({ length: count }, (_, index) => ({ event_id: String(index + 1) }));

/** Reads a scripted source once, into its own work file. */
async function read(t: Cleanup, script: Partial<ScriptedService>) {
  const { base, requests } = await startScriptedSource(t, { lists: {}, singles: {}, ...script });
  const silent = () => undefined;
  const source = createSourceClient({
    sourceUrl: base,
    headers: {},
    clock: systemClock,
    requestsPerSecond: 1_000,
    print: silent,
  });
  const work = new WorkFile(join(createTemporaryFolder(t), 'work'));
  atEnd(t, () => work.close());
  const reading = readSource({ source, workFile: work, progress: silentProgress, print: silent, readings: 1 });
  const pages = () => requests.flatMap(({ address }) => (address.includes('events?') ? [address.split('?')[1]] : []));
  const kept = () => work.queryNumber(`select count(*) from records where noun = 'events'`);
  return { reading, pages, kept };
}

test('a list ends with a page that is not full, whatever its total; the next page may be 404', async (t) => {
  const lists = { events: records(2_500) };
  const low = await read(t, { lists, totalOf: () => 1_000 });
  await low.reading;
  assert.equal(low.kept(), 2_500);
  const short = await read(t, { lists, maxPageSize: 500, totalOf: () => 500 });
  await short.reading;
  assert.deepEqual([short.kept(), short.pages().at(-1)], [2_500, 'limit=1000&offset=2500']);
  const behind = await read(t, {
    lists,
    totalOf: () => undefined,
    before(url, answer) {
      const isBehind = url.searchParams.get('offset') === '2500';
      if (isBehind) respond(answer, 404, {});
      return isBehind;
    },
  });
  await behind.reading;
  assert.equal(behind.kept(), 2_500);
  // Reading ends even if a source repeats the same full page forever.
  const same = await read(t, {
    before(url, answer) {
      if (!url.pathname.endsWith('events')) return false;
      respond(answer, 200, { paging: { limit: 3, total_records: 3 }, data: records(3) });
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
      respond(answer, 200, { paging: { offset, limit: data.length, total_records: all.length }, data });
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
      if (isRevoked) respond(answer, 401, {});
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

const NOW = Date.UTC(2027, 0, 1, 12);
const DEADLINE_MS = 90_000;

/** A clock that fires timers immediately, except request deadlines, and records their delays. */
function immediateClock(): Clock & { readonly waits: number[] } {
  let passed = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => NOW + passed,
    monotonic: () => passed,
    after(waitMs, run) {
      if (waitMs === DEADLINE_MS) return () => undefined;
      waits.push(Math.round(waitMs));
      passed += waitMs;
      const timer = setImmediate(run);
      return () => clearImmediate(timer);
    },
  };
}

type ScriptedResponse = (answer: ServerResponse) => void;

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (answer: ServerResponse) =>
    respond(answer, code, { message: 'later' }, headers);
const good: ScriptedResponse = (answer) => respond(answer, 200, { data: [] });

/** Creates a client of a source that sends the scripted responses first, and then always 200. */
async function sourceResponding(t: Cleanup, ...turns: ScriptedResponse[]) {
  const { base, requests } = await startScriptedSource(t, {
    lists: {},
    singles: {},
    before(_url, answer) {
      (turns.shift() ?? good)(answer);
      return true;
    },
  });
  const clock = immediateClock();
  const said: string[] = [];
  const headers = { key: 'secret-key', domain: 'acme.test', 'user-agent': 'Carillon/1 (import)' };
  const source = createSourceClient({
    sourceUrl: base,
    headers,
    clock,
    requestsPerSecond: 1_000,
    print: (line) => said.push(line),
  });
  return { source, clock, said, requests, waits: () => clock.waits.filter((ms) => ms > 1) };
}

test('transient errors are retried: after Retry-After in seconds or as a date, else with backoff', async (t) => {
  const date = new Date(NOW + 95_000).toUTCString();
  const { source, waits, said, requests } = await sourceResponding(
    t,
    good,
    status(429, { 'retry-after': '30' }),
    status(503, { 'retry-after': date }),
    status(503),
    (answer) => answer.socket?.destroy(),
    (answer) => {
      answer.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      answer.write('{"data":[{"event_');
      answer.socket?.end();
    },
    (answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' });
      answer.end('{"data":[{"event_');
    },
    status(502, { 'retry-after': 'soon' }),
  );
  await source.get(['user']);
  assert.deepEqual(await source.get(['events'], { limit: 1_000, offset: 2_000 }), {
    state: 'found',
    body: { data: [] },
  });
  const [first = 0, second = 0, ...grown] = waits();
  assert.equal(first, 30_000);
  // The date in Retry-After has whole seconds, and the clock has advanced by the first delay.
  assert.ok(second > 64_000 && second <= 65_000, String(second));
  assert.deepEqual(grown, [4_000, 8_000, 16_000, 32_000, 60_000]);
  assert.equal(requests.at(-1)?.address, '/v2/events?limit=1000&offset=2000');
  const { key, domain, 'user-agent': agent } = requests.at(-1)?.headers ?? {};
  assert.deepEqual([key, domain, agent], ['secret-key', 'acme.test', 'Carillon/1 (import)']);
  assert.match(said.join('\n'), /the response is 429; retry in 30 s\n.*503; retry in 65 s/);
  assert.match(said.join('\n'), /the response was truncated; retry in 32 s/);
  assert.doesNotMatch(said.join('\n'), /secret-key/);
});

test('a source that never responded is given up after three tries, one that has responded after nine', async (t) => {
  const never = await sourceResponding(t, ...Array.from({ length: 9 }, () => status(503)));
  await assert.rejects(never.source.get(['events']), /cannot be read, after 3 tries: the response is 503\.$/);
  assert.equal(never.requests.length, 3);
  const later = await sourceResponding(t, good, ...Array.from({ length: 9 }, () => status(500)));
  await later.source.get(['user']);
  await assert.rejects(later.source.get(['events']), /cannot be read, after 9 tries: the response is 500\.$/);
  assert.equal(later.requests.length, 10);
  const long = await sourceResponding(t, status(429, { 'retry-after': '90000' }));
  await assert.rejects(long.source.get(['events']), /Retry-After is more than a day/);
  assert.equal(long.requests.length, 1);
});

test('absent and refused are distinguished; redirects are not followed, and only JSON is accepted', async (t) => {
  const { source, requests } = await sourceResponding(
    t,
    status(404),
    status(401),
    status(302, { location: 'https://elsewhere.test/v2/events' }),
    (answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    status(400),
  );
  assert.deepEqual(await source.get(['tasks']), { state: 'absent', status: 404 });
  assert.deepEqual(await source.get(['tasks']), { state: 'refused', status: 401 });
  await assert.rejects(
    source.get(['tasks']),
    /redirects to https:\/\/elsewhere\.test\/v2\/events: redirects are not followed/,
  );
  await assert.rejects(
    source.get(['tasks']),
    /something other than JSON: --from-api must be the address of the service/,
  );
  await assert.rejects(source.get(['tasks']), /returned 400: "\{\\"message\\":\\"later\\"\}"$/);
  assert.equal(requests.length, 5);
});

test('JSON is accepted with any content type; an endless or too large response is cut off', async (t) => {
  const pieces = Buffer.alloc(1 << 20, ' ');
  let written = 0;
  const { source } = await sourceResponding(
    t,
    (answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('{"data":[]}'),
    (answer) => {
      answer.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      answer.end(gzipSync(Buffer.alloc(80 << 20, ' ')));
    },
    (answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        do written += pieces.length;
        while (answer.write(pieces));
        answer.once('drain', more);
      };
      more();
    },
  );
  assert.deepEqual(await source.get(['events']), { state: 'found', body: { data: [] } });
  await assert.rejects(source.get(['events']), /events returned more than 64 MiB\.$/);
  await assert.rejects(source.get(['events']), ResponseTooLarge);
  assert.ok(written < 100 << 20, String(written));
});

test('requests are limited to the configured rate', async (t) => {
  const { base } = await startScriptedSource(t, { lists: { events: [] }, singles: {} });
  const clock = immediateClock();
  const source = createSourceClient({
    sourceUrl: base,
    headers: {},
    clock,
    requestsPerSecond: 4,
    print: () => undefined,
  });
  for (let turn = 0; turn < 4; turn += 1) await source.get(['events']);
  assert.deepEqual(clock.waits, [250, 250, 250]);
});

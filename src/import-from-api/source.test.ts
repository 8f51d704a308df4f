import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Cleanup } from '../../test/kit/cleanup.ts';
import { say, scriptedSource } from '../../test/kit/service/import-from-api.ts';
import type { Clock } from '../clock.ts';
import { createSource, TooLarge } from './source.ts';

const NOW = Date.UTC(2027, 0, 1, 12);
const DEADLINE_MS = 90_000;

/** A clock whose timers fire immediately, except deadlines; records the delays. */
function eagerClock(): Clock & { readonly waits: number[] } {
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

type Turn = (answer: ServerResponse) => void;

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (answer: ServerResponse) =>
    say(answer, code, { message: 'later' }, headers);
const good: Turn = (answer) => say(answer, 200, { data: [] });

/** A source with scripted responses, then 200. */
async function answering(t: Cleanup, ...turns: Turn[]) {
  const { base, requests } = await scriptedSource(t, {
    lists: {},
    singles: {},
    before(_url, answer) {
      (turns.shift() ?? good)(answer);
      return true;
    },
  });
  const clock = eagerClock();
  const said: string[] = [];
  const headers = { key: 'secret-key', domain: 'acme.test', 'user-agent': 'Carillon/1 (import)' };
  const source = createSource({ base, headers, clock, rate: 1_000, say: (line) => said.push(line) });
  return { source, clock, said, requests, waits: () => clock.waits.filter((ms) => ms > 1) };
}

test('transient errors are retried: after Retry-After in seconds or as a date, else with backoff', async (t) => {
  const date = new Date(NOW + 95_000).toUTCString();
  const { source, waits, said, requests } = await answering(
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
  // The date has whole seconds, and the clock has advanced by the first delay.
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
  const never = await answering(t, ...Array.from({ length: 9 }, () => status(503)));
  await assert.rejects(never.source.get(['events']), /cannot be read, after 3 tries: the response is 503\.$/);
  assert.equal(never.requests.length, 3);
  const later = await answering(t, good, ...Array.from({ length: 9 }, () => status(500)));
  await later.source.get(['user']);
  await assert.rejects(later.source.get(['events']), /cannot be read, after 9 tries: the response is 500\.$/);
  assert.equal(later.requests.length, 10);
  const long = await answering(t, status(429, { 'retry-after': '90000' }));
  await assert.rejects(long.source.get(['events']), /Retry-After is more than a day/);
  assert.equal(long.requests.length, 1);
});

test('absent and refused are distinguished; redirects are not followed, and only JSON is accepted', async (t) => {
  const { source, requests } = await answering(
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
  const { source } = await answering(
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
  await assert.rejects(source.get(['events']), TooLarge);
  assert.ok(written < 100 << 20, String(written));
});

test('requests are limited to the configured rate', async (t) => {
  const { base } = await scriptedSource(t, { lists: { events: [] }, singles: {} });
  const clock = eagerClock();
  const source = createSource({ base, headers: {}, clock, rate: 4, say: () => undefined });
  for (let turn = 0; turn < 4; turn += 1) await source.get(['events']);
  assert.deepEqual(clock.waits, [250, 250, 250]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { product, type Source } from './source.ts';

const files = product();

/** A word that may stand in few places only, and why it stands there. */
type Exception = { readonly path: string; readonly word: string; readonly because: string };

/** Where words stand, as `path: word`, but for the exceptions; an exception that is not needed any more is named too. */
function strays(
  words: readonly RegExp[],
  exceptions: readonly Exception[],
  among: readonly Source[] = files,
): string[] {
  const found = among.flatMap(({ path, code }) =>
    words.flatMap((word) => [...code.matchAll(word)].map(([text]) => ({ path, word: text.replace(/\s+/g, '') }))),
  );
  const is = (one: { path: string; word: string }) => (other: { path: string; word: string }) =>
    one.path === other.path && one.word === other.word;
  const wrong = found.filter((one) => !exceptions.some(is(one))).map(({ path, word }) => `${path}: ${word}`);
  const idle = exceptions
    .filter((one) => !found.some(is(one)))
    .map(({ path, word }) => `no longer needed: ${path}: ${word}`);
  return [...new Set(wrong), ...idle];
}

const CLOCK = 'the one place that asks for the time';
const RANDOM = 'the one place that makes chance';
const BUSY = 'how long SQLite is waited for is no matter of the calendar: a simulated clock must not stop the store';
const TURN = 'a turn of the event loop, not a span of time: what is done together is gathered by it';
const STALLED = 'a turn of the event loop, not a span of time: a write that outlives one has awaited what it must not';
const TOGETHER = 'a turn of the event loop, not a span of time: it gathers the news of one moment';
const MEASURED = 'what a commit took, for the metrics';
const BETWEEN = 'a turn of the event loop, not a span of time: other calls are heard between two readers';
const ACCEPTED = 'a turn of the event loop, not a span of time: one connection is accepted in each';
const LINES = 'a turn of the event loop, not a span of time: its lines are written together';
const ANSWERS = 'a turn of the event loop, not a span of time: its answers leave together';
const READS = 'a turn of the event loop, not a span of time: what is asked in it is one query, or one transaction';
const TOLD = 'a turn of the event loop, not a span of time: other calls are heard between two handfuls of attempts';
const SLICES = 'a turn of the event loop, not a span of time: other calls are served between two slices of a long one';

const TIME_AND_RANDOM: readonly Exception[] = [
  { path: 'src/clock.ts', word: 'Date.now', because: CLOCK },
  { path: 'src/clock.ts', word: 'performance.now', because: CLOCK },
  { path: 'src/clock.ts', word: 'setTimeout(', because: CLOCK },
  { path: 'src/secrets.ts', word: 'Math.random', because: RANDOM },
  { path: 'src/secrets.ts', word: 'randomBytes(', because: RANDOM },
  { path: 'src/log-writer.ts', word: 'setImmediate(', because: LINES },
  { path: 'src/store/sqlite/open.ts', word: 'performance.now', because: BUSY },
  { path: 'src/store/sqlite/open.ts', word: 'setTimeout(', because: BUSY },
  {
    path: 'src/store/sqlite/group-commit.ts',
    word: 'performance.now',
    because: 'how long a commit takes, for the metrics',
  },
  { path: 'src/async/wait-for-batch.ts', word: 'setImmediate(', because: TURN },
  { path: 'src/store/sqlite/group-commit.ts', word: 'setImmediate(', because: STALLED },
  { path: 'src/store/sqlite/open.ts', word: 'setImmediate(', because: TURN },
  { path: 'src/store/postgres/notifier.ts', word: 'setImmediate(', because: TOGETHER },
  { path: 'src/store/postgres/write-batcher.ts', word: 'performance.now', because: MEASURED },
  { path: 'src/store/sqlite/connection.ts', word: 'setImmediate(', because: READS },
  { path: 'src/http/server/batched-responses.ts', word: 'setImmediate(', because: ANSWERS },
  { path: 'src/http/feed/waiters.ts', word: 'setImmediate(', because: BETWEEN },
  { path: 'src/async/fair-scheduler.ts', word: 'setImmediate(', because: ACCEPTED },
  {
    path: 'src/delivery/transport/deadline.ts',
    word: 'setImmediate(',
    because: 'the turn in which arrived data is read',
  },
  { path: 'src/async/running-time.ts', word: 'setImmediate(', because: 'the turn in which arrived data is read' },
  { path: 'src/delivery/dispatcher/dispatcher.ts', word: 'setImmediate(', because: TOLD },
  { path: 'src/http/routes/page-slices.ts', word: 'setImmediate(', because: SLICES },
  {
    path: 'packages/sdk/src/transport.ts',
    word: 'AbortSignal.timeout',
    because: 'the SDK stands alone and has no clock',
  },
  { path: 'packages/sdk/src/follow.ts', word: 'setTimeout(', because: 'the SDK stands alone and has no clock' },
  {
    path: 'packages/sdk/src/receiver/time.ts',
    word: 'setTimeout(',
    because: 'the one place of a receiver that has timers',
  },
  { path: 'packages/sdk/src/receiver/time.ts', word: 'Date.now', because: 'and that asks for the time' },
  ...['performance.now', 'setTimeout(', 'Math.random', 'getRandomValues('].map((word) => ({
    path: 'packages/sdk/src/runtime.ts',
    word,
    because: 'the SDK stands alone and has no clock',
  })),
];

test('only clock.ts asks for the time and only secrets.ts makes chance, but for named exceptions', () => {
  const words = [
    /\bDate\s*\.\s*now\b/g,
    /\bnew\s+Date\s*\(\s*\)/g,
    /\bDate\s*\(\s*\)/g,
    /\bperformance\s*\.\s*now\b/g,
    /\bhrtime\b/g,
    /\b(?:setTimeout|setInterval|setImmediate)\s*\(/g,
    /\bAbortSignal\s*\.\s*timeout\b/g,
    /\bMath\s*\.\s*random\b/g,
    /\b(?:randomBytes|randomUUID|randomInt|getRandomValues)\s*\(/g,
  ];
  assert.deepEqual(strays(words, TIME_AND_RANDOM), []);
  const imports = files.flatMap(({ path, imports }) =>
    imports.filter(({ from }) => /^node:(timers|perf_hooks)/.test(from)).map(({ from }) => `${path}: ${from}`),
  );
  assert.deepEqual(imports, []);
});

test('C15 only dial.ts and resolver.ts can open a connection to the outside, and smtp.ts one to the mail server', () => {
  /** What can reach out, and who may hold it; the values of `node:net` are listed one by one. */
  const harmless: Readonly<Record<string, readonly string[]>> = {
    'node:net': ['BlockList', 'createServer', 'isIP', 'isIPv4', 'isIPv6', 'Server'],
    // Speaks over the connection that it is given.
    'node:tls': ['createSecureContext', 'TLSSocket'],
    // Answers what has come in.
    'node:http': ['ServerResponse'],
    undici: ['errors'],
  };
  const outward =
    /^(node:(net|tls|http|https|http2|dgram|dns|dns\/promises|child_process|worker_threads|cluster)|undici|nodemailer)$/;
  const holders = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ from, typeOnly, names }) => {
        if (typeOnly || !outward.test(from)) return false;
        return !names.every((name) => harmless[from]?.includes(name));
      })
      .map(({ from }) => `${path}: ${from}`),
  );
  assert.deepEqual(holders.sort(), [
    // Speaks over the connection that it is given.
    'src/delivery/transport/connection-pool.ts: undici',
    'src/delivery/transport/dial.ts: node:net',
    'src/delivery/transport/dial.ts: node:tls',
    'src/delivery/transport/dns-resolver.ts: node:dns/promises',
    // Starts the process that reads a calendar, which is handed a text and nothing to connect to.
    'src/ical/parse-in-child-process.ts: node:child_process',
    // To the mail server that the operator has named, and to no address that anybody else gives: no guard judges it.
    'src/mail/smtp.ts: nodemailer',
  ]);
  const words = [/\bfetch\s*\(/g, /\bnew\s+(?:WebSocket|EventSource|XMLHttpRequest)\b/g, /\brequire\s*\(/g];
  const elsewhere = files.filter(({ path }) => !path.startsWith('packages/sdk/'));
  // No service runs this: only the command line may import it.
  const byHand = 'an operator names the one address that it reads, at the command line';
  assert.deepEqual(
    strays(words, [{ path: 'src/import-from-api/source.ts', word: 'fetch(', because: byHand }], elsewhere),
    [],
  );
  const movers = files.filter(({ imports }) => imports.some(({ from }) => from.startsWith('src/moving/')));
  const outside = movers.map(({ path }) => path).filter((path) => !/^src\/(moving\/|cli\/import-)/.test(path));
  assert.deepEqual(outside, []);
  // The SDK reaches one address, its own service, through what it was given.
  const sdk = files.filter(({ path }) => path.startsWith('packages/sdk/'));
  assert.deepEqual(
    strays(
      [/(?:\.\s*)?\bfetch\s*\(/g],
      [
        { path: 'packages/sdk/src/carillon.ts', word: 'fetch(', because: 'the default, the global one' },
        { path: 'packages/sdk/src/transport.ts', word: '.fetch(', because: 'what was given' },
      ],
      sdk,
    ),
    [],
  );
});

test('nothing writes to the console', () => {
  assert.deepEqual(strays([/\bconsole\s*[.[]/g, /\bprocess\s*\.\s*_rawDebug\b/g], []), []);
});

test('C3 the whole transaction of a caller is for delivery/ alone', () => {
  const holders = files.filter(({ code }) => /\.\s*transactionOf\b/.test(code)).map(({ path }) => path);
  assert.ok(holders.length > 0);
  assert.deepEqual(
    holders.filter((path) => !path.startsWith('src/delivery/')),
    [],
  );
});

test('C3 a scope over an account is made at its borders alone: behind a door or beside it, at the command line, with the account', () => {
  const makers = files.filter(({ code }) => /\bnew\s+Account(?:View|Write)\s*\(/.test(code)).map(({ path }) => path);
  const borders = [
    ...[
      'src/cli/admin/open-database.ts',
      'src/http/routes/capability-urls.ts',
      'src/http/routes/mount.ts',
      'src/http/routes/public-routes.ts',
    ],
    'src/resources/accounts/actions.ts',
    // Of no account: a query is compiled with it.
    'src/store/account-scope.ts',
  ];
  assert.deepEqual(makers, borders);
});

test('http/ knows no noun', () => {
  const resourceType =
    /\b(?:events|clients|projects|tasks|subtasks|hooks|deliveries|company|(?:event|client|project|task|subtask|hook|delivery)_(?:id|name))\b/g;
  const wrong = files
    .filter(({ path }) => path.startsWith('src/http/'))
    .flatMap(({ path, spoken }) => [...spoken.matchAll(resourceType)].map(([word]) => `${path}: ${word}`));
  assert.deepEqual(wrong, []);
});

test('nothing is silenced: no checker is told to look away', () => {
  const wrong = files.filter(({ text }) =>
    /biome-ignore|@ts-(?:ignore|expect-error|nocheck)|\bTODO\b|\bFIXME\b/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('waiting for a permit is written once, with a limit and a share for each group: in src/async', () => {
  const queueOfResolvers = /\(resolve\)\s*=>\s*[\w.#]+\.push\(resolve\)/g;
  // Followers are limited, for each account too, before they wait here.
  const among = files.filter(({ path }) => !path.startsWith('src/async/') && path !== 'src/http/feed/waiters.ts');
  assert.deepEqual(strays([queueOfResolvers], [], among), []);
});

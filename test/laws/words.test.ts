import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productSources, type SourceFile } from './source.ts';

const files = productSources();

/** An allowed use of a restricted expression, with the reason. */
type AllowedUse = { readonly path: string; readonly word: string; readonly because: string };

/**
 * Returns the uses of restricted expressions that no exception allows, as `path: word`, and the exceptions that are no
 * longer needed.
 */
function violations(
  words: readonly RegExp[],
  exceptions: readonly AllowedUse[],
  among: readonly SourceFile[] = files,
): string[] {
  const found = among.flatMap(({ path, code }) =>
    words.flatMap((word) => [...code.matchAll(word)].map(([text]) => ({ path, word: text.replace(/\s+/g, '') }))),
  );
  const is = (one: { path: string; word: string }) => (other: { path: string; word: string }) =>
    one.path === other.path && one.word === other.word;
  const wrong = found.filter((one) => !exceptions.some(is(one))).map(({ path, word }) => `${path}: ${word}`);
  const unneeded = exceptions
    .filter((one) => !found.some(is(one)))
    .map(({ path, word }) => `no longer needed: ${path}: ${word}`);
  return [...new Set(wrong), ...unneeded];
}

const CLOCK = 'the source of time';
const RANDOM = 'the source of randomness';
const BUSY_TIMEOUT = 'timeout of SQLite locks in real time: a simulated clock must not stop the store';
const BATCH = 'event-loop iteration, not time: collects the work of one batch';
const STALLED_WRITE = 'event-loop iteration, not time: detects a write transaction that awaits something else';
const COMMIT_EVENTS = 'event-loop iteration, not time: combines the commit events of one iteration';
const COMMIT_DURATION = 'duration of a commit, for the metrics';
const WAITERS = 'event-loop iteration, not time: serves other requests between two feed waiters';
const ACCEPTED = 'event-loop iteration, not time: accepts one connection per iteration';
const LINES = 'event-loop iteration, not time: writes the log lines of one iteration together';
const RESPONSES = 'event-loop iteration, not time: sends the responses of one iteration together';
const READS = 'event-loop iteration, not time: combines the reads of one iteration into one query or transaction';
const ATTEMPTS = 'event-loop iteration, not time: serves other requests between two batches of attempts';
const QUEUES = 'event-loop iteration, not time: serves other requests between two queries over hook queues';
const SLICES = 'event-loop iteration, not time: serves other requests between two slices of a long response';
const BURST = 'event-loop iteration, not time: accepts a connection in each iteration of a burst';
const CLOSED = 'event-loop iteration, not time: closes some of many expired connections in each';
const RECEIVED_DATA = 'event-loop iteration, not time: reads data that has already arrived';
const SDK = 'the SDK has no injected clock';

const TIME_AND_RANDOM: readonly AllowedUse[] = [
  { path: 'src/clock.ts', word: 'Date.now', because: CLOCK },
  { path: 'src/clock.ts', word: 'performance.now', because: CLOCK },
  { path: 'src/clock.ts', word: 'setTimeout(', because: CLOCK },
  { path: 'src/secrets.ts', word: 'Math.random', because: RANDOM },
  { path: 'src/secrets.ts', word: 'randomBytes(', because: RANDOM },
  { path: 'src/log-writer.ts', word: 'setImmediate(', because: LINES },
  { path: 'src/delivery/maintenance/oldest-pending.ts', word: 'setImmediate(', because: QUEUES },
  { path: 'src/store/sqlite/open.ts', word: 'performance.now', because: BUSY_TIMEOUT },
  { path: 'src/store/sqlite/open.ts', word: 'setTimeout(', because: BUSY_TIMEOUT },
  {
    path: 'src/store/sqlite/group-commit.ts',
    word: 'performance.now',
    because: COMMIT_DURATION,
  },
  { path: 'src/async/batches.ts', word: 'setImmediate(', because: BATCH },
  { path: 'src/store/sqlite/group-commit.ts', word: 'setImmediate(', because: STALLED_WRITE },
  { path: 'src/store/sqlite/open.ts', word: 'setImmediate(', because: BATCH },
  { path: 'src/store/postgres/notifier.ts', word: 'setImmediate(', because: COMMIT_EVENTS },
  { path: 'src/store/postgres/group-commit.ts', word: 'performance.now', because: COMMIT_DURATION },
  { path: 'src/store/sqlite/connection.ts', word: 'setImmediate(', because: READS },
  { path: 'src/http/server/response-buffers.ts', word: 'setImmediate(', because: RESPONSES },
  { path: 'src/http/server/connection-burst.ts', word: 'setImmediate(', because: BURST },
  { path: 'src/http/server/connections.ts', word: 'setImmediate(', because: CLOSED },
  { path: 'src/http/feed/waiters.ts', word: 'setImmediate(', because: WAITERS },
  { path: 'src/async/fair-scheduler.ts', word: 'setImmediate(', because: ACCEPTED },
  {
    path: 'src/clock.ts',
    word: 'setImmediate(',
    because: RECEIVED_DATA,
  },
  { path: 'src/async/running-time.ts', word: 'setImmediate(', because: RECEIVED_DATA },
  { path: 'src/delivery/dispatcher/dispatch-loop.ts', word: 'setImmediate(', because: ATTEMPTS },
  { path: 'src/http/routes/pagination.ts', word: 'setImmediate(', because: SLICES },
  {
    path: 'packages/sdk/src/transport.ts',
    word: 'AbortSignal.timeout',
    because: SDK,
  },
  { path: 'packages/sdk/src/follow.ts', word: 'setTimeout(', because: SDK },
  { path: 'packages/sdk/src/receiver/verify-signature.ts', word: 'Date.now', because: 'the clock of the receiver' },
  ...['performance.now', 'setTimeout(', 'Math.random', 'getRandomValues('].map((word) => ({
    path: 'packages/sdk/src/runtime.ts',
    word,
    because: SDK,
  })),
];

test('only clock.ts reads the time and only secrets.ts generates randomness, with listed exceptions', () => {
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
  assert.deepEqual(violations(words, TIME_AND_RANDOM), []);
  const imports = files.flatMap(({ path, imports }) =>
    imports.filter(({ from }) => /^node:(timers|perf_hooks)/.test(from)).map(({ from }) => `${path}: ${from}`),
  );
  assert.deepEqual(imports, []);
});

test('C15 only dial.ts and dns-resolver.ts can open connections to targets, and smtp.ts to the mail server', () => {
  /** Imports of network modules that cannot open a connection. */
  const harmless: Readonly<Record<string, readonly string[]>> = {
    'node:net': ['BlockList', 'createServer', 'isIP', 'isIPv4', 'isIPv6', 'Server'],
    // They only use an existing connection.
    'node:tls': ['createSecureContext', 'TLSSocket'],
    // It only responds to incoming requests.
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
    // The file only uses an existing connection.
    'src/delivery/transport/connection-pool.ts: undici',
    'src/delivery/transport/dial.ts: node:net',
    'src/delivery/transport/dial.ts: node:tls',
    'src/delivery/transport/dns-resolver.ts: node:dns/promises',
    // The file starts the process that parses calendars. The process gets only text.
    'src/ical/parse-in-child-process.ts: node:child_process',
    // The file connects only to the mail server that the operator has configured, without a check by the SSRF guard.
    'src/mail/smtp.ts: nodemailer',
  ]);
  const words = [/\bfetch\s*\(/g, /\bnew\s+(?:WebSocket|EventSource|XMLHttpRequest)\b/g, /\brequire\s*\(/g];
  const elsewhere = files.filter(({ path }) => !path.startsWith('packages/sdk/'));
  // src/import-from-api is not part of the running service: only the command line may import it.
  const byHand = 'an operator enters its URL at the command line';
  assert.deepEqual(
    violations(words, [{ path: 'src/import-from-api/source.ts', word: 'fetch(', because: byHand }], elsewhere),
    [],
  );
  const movers = files.filter(({ imports }) => imports.some(({ from }) => from.startsWith('src/import-from-api/')));
  const outside = movers.map(({ path }) => path).filter((path) => !/^src\/(cli\/)?import-from-api\//.test(path));
  assert.ok(movers.length > 0);
  assert.deepEqual(outside, []);
  // The SDK sends requests only to the Carillon service, through the `fetch` that its caller passes.
  const sdk = files.filter(({ path }) => path.startsWith('packages/sdk/'));
  assert.deepEqual(
    violations(
      [/(?:\.\s*)?\bfetch\s*\(/g],
      [
        { path: 'packages/sdk/src/carillon.ts', word: 'fetch(', because: 'the default is the global fetch' },
        { path: 'packages/sdk/src/transport.ts', word: '.fetch(', because: 'the given fetch' },
      ],
      sdk,
    ),
    [],
  );
});

test('nothing uses console', () => {
  assert.deepEqual(violations([/\bconsole\s*[.[]/g, /\bprocess\s*\.\s*_rawDebug\b/g], []), []);
});

test('C3 only delivery/ uses the unscoped transaction of a request', () => {
  const holders = files.filter(({ code }) => /\.\s*transactionOf\b/.test(code)).map(({ path }) => path);
  assert.ok(holders.length > 0);
  assert.deepEqual(
    holders.filter((path) => !path.startsWith('src/delivery/')),
    [],
  );
});

test('C3 account scopes are created only by route groups, capability URLs, the command line and account creation', () => {
  const makers = files.filter(({ code }) => /\bnew\s+Account(?:View|Write)\s*\(/.test(code)).map(({ path }) => path);
  const borders = [
    ...[
      'src/cli/admin/open-database.ts',
      'src/http/routes/capability-urls.ts',
      'src/http/routes/execute.ts',
      'src/http/routes/public-routes.ts',
    ],
    'src/resources/accounts/actions.ts',
    // The scope in this file belongs to no account. It only serves to compile a query.
    'src/store/account-scope.ts',
  ];
  assert.deepEqual(makers, borders);
});

test('http/ does not mention any resource', () => {
  const resourceType =
    /\b(?:events|clients|projects|tasks|subtasks|hooks|deliveries|company|(?:event|client|project|task|subtask|hook|delivery)_(?:id|name))\b/g;
  const wrong = files
    .filter(({ path }) => path.startsWith('src/http/'))
    .flatMap(({ path, withoutComments }) =>
      [...withoutComments.matchAll(resourceType)].map(([word]) => `${path}: ${word}`),
    );
  assert.deepEqual(wrong, []);
});

test('no check is suppressed by a comment', () => {
  const wrong = files.filter(({ text }) =>
    /biome-ignore|@ts-(?:ignore|expect-error|nocheck)|\bTODO\b|\bFIXME\b/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('waiting for a permit is implemented only in src/async, with a limit and fair queueing', () => {
  const queueOfResolvers = /\(resolve\)\s*=>\s*[\w.#]+\.push\(resolve\)/g;
  // The feed waiters may have a queue, because their number is limited in total and per account.
  const among = files.filter(({ path }) => !path.startsWith('src/async/') && path !== 'src/http/feed/waiters.ts');
  assert.deepEqual(violations([queueOfResolvers], [], among), []);
});

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { WriteStream } from 'node:tty';
import { Command } from 'commander';
import type { FeedEntry } from '../../../packages/sdk/src/notifications.ts';
import { createTestClock } from '../../../test/kit/clock.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import type { AttemptOutcome } from '../../delivery/dispatcher/retry-policy.ts';
import type { AttemptRequest, SendAttempt } from '../../delivery/transport/attempt.ts';
import type { ServiceClient } from '../client/connect.ts';
import { addListenCommand } from '../client/listen.ts';
import { CliError, Output, type OutputSink } from '../output/screen.ts';
import { getDefaultCursorPath, readFeedPosition, saveFeedPosition } from './cursor-file.ts';
import { FeedReader, pause } from './feed.ts';
import { createWebhookId, Forwarder } from './forward.ts';
import { readListenSettings } from './options.ts';
import { type HandledOccurrence, printOccurrence } from './print.ts';

const listener = {
  service: 'http://127.0.0.1:8080',
  domain: 'acme.test',
  user_id: '1',
  forward_to: '',
  kinds: '',
  scope: '',
  project_id: '',
};
const savedPosition = { cursor: '42', occurred_at: '2027-03-01 09:14:02' };

test('X2 listeners with different filters have separate cursors', () => {
  const different = ['service', 'domain', 'user_id', 'forward_to', 'kinds', 'scope', 'project_id'] as const;
  const files = different.map((name) => getDefaultCursorPath({ ...listener, [name]: 'new_task' }));
  assert.equal(new Set([getDefaultCursorPath(listener), ...files]).size, 8);
});

test('an invalid cursor file is an error in one line, which says how to continue and does not quote the file', (t) => {
  const file = join(createTemporaryFolder(t), 'cursor.json');
  assert.equal(readFeedPosition(file, listener), undefined);
  saveFeedPosition(file, listener, savedPosition);
  assert.deepEqual(readFeedPosition(file, listener), savedPosition);

  const { service, domain, user_id } = listener;
  const ownerless = JSON.stringify({ cursor: '42' });
  const long = JSON.stringify({ service, domain, user_id, cursor: '9'.repeat(20) });
  for (const text of ['', 'carillon_secret\n', '{}', 'null', '[]', '"42"', ownerless, long]) {
    writeFileSync(file, text);
    const line = `${file} contains no cursor of carillon listen: start with --from-now, --from-oldest or --after to replace it.`;
    assert.throws(() => readFeedPosition(file, listener), { name: 'CliError', lines: [line] }, text);
  }
  writeFileSync(file, JSON.stringify({ service, domain, user_id, cursor: '42' }));
  assert.deepEqual(readFeedPosition(file, listener), { cursor: '42', occurred_at: '' });
});

test('a failed write is an error and leaves no file behind', (t) => {
  const folder = createTemporaryFolder(t);
  mkdirSync(join(folder, 'taken', 'x'), { recursive: true });
  assert.throws(() => saveFeedPosition(join(folder, 'taken'), listener, savedPosition), CliError);
  assert.deepEqual(readdirSync(folder), ['taken']);
});

test('a wait aborted by the signal leaves no timer behind', async () => {
  const clock = createTestClock();
  const { signal } = new AbortController();
  let listeners = 0;
  const counted = Object.assign(Object.create(signal), {
    throwIfAborted: () => undefined,
    addEventListener: () => (listeners += 1),
    removeEventListener: () => (listeners -= 1),
  });
  const waiting = pause(clock, 1_000, counted);
  assert.equal(listeners, 1);
  await clock.advance(1_000);
  await waiting;
  assert.equal(listeners, 0);
});

const appListener = {
  service: 'http://127.0.0.1:8080',
  domain: 'acme.test',
  user_id: '1',
  forward_to: 'http://127.0.0.1:1/',
  kinds: '',
  scope: 'own',
  project_id: '',
};
const entry: FeedEntry = {
  cursor: '42',
  kind: 'new_task',
  resource_url: 'http://127.0.0.1:8080/v2/tasks/7',
  occurred_at: '2027-03-01 09:14:02',
  user_id: '1',
  project_id: '3',
  previous_project_id: '0',
  fields: [],
};
const answered = (status: number): AttemptOutcome => ({ kind: 'answered', status, durationMs: 9 });

/** Creates a forwarder whose attempts have these outcomes in order. Further attempts repeat the last outcome. */
function createForwarder(outcomes: readonly AttemptOutcome[], options: { onceEach?: boolean; secret?: string } = {}) {
  const clock = createTestClock();
  const orders: AttemptRequest[] = [];
  const failed: number[] = [];
  const stopped = new AbortController();
  const attempt: SendAttempt = async (order) => {
    orders.push(order);
    return outcomes[Math.min(orders.length, outcomes.length) - 1] ?? answered(200);
  };
  const made = new Forwarder(appListener, {
    target: appListener.forward_to,
    timeoutMs: 15_000,
    acceptsAnyResponse: options.onceEach ?? false,
    signingSecret: options.secret,
    signal: stopped.signal,
    onFailedAttempt: (_entry, told) => failed.push(told.attemptCount),
    clock,
    sendAttempt: attempt,
  });
  return { clock, orders, failed, stopped, made };
}

test('X2 an occurrence is sent again unchanged until the response is 200, with backoff up to half a minute', async () => {
  const refused: AttemptOutcome = { kind: 'failed', cause: 'refused', durationMs: 1 };
  const outcomes = [refused, answered(204), answered(500), ...Array.from({ length: 7 }, () => refused), answered(200)];
  const { clock, orders, failed, made } = createForwarder(outcomes);
  const telling = made.forward(entry);
  const waits: number[] = [];
  for (let index = 1; index < outcomes.length; index += 1) {
    await turn();
    waits.push(...clock.remainingDelaysMs);
    await clock.advance(clock.remainingDelaysMs[0] ?? 0);
  }
  const told = await telling;
  assert.deepEqual(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.deepEqual([told.attemptCount, failed.length, told.outcome], [11, 10, answered(200)]);
  assert.equal(new Set(orders.map(({ deliveryId, body }) => `${deliveryId} ${body}`)).size, 1);
  assert.equal(orders[0]?.body, '{"resource_url":"http://127.0.0.1:8080/v2/tasks/7"}');
  assert.deepEqual(orders[0]?.headers, ['webhook-event', 'new_task', 'webhook-cursor', '42']);

  // A new forwarder begins with the initial backoff.
  const again = createForwarder([refused, answered(200)]);
  const first = again.made.forward(entry);
  await turn();
  assert.deepEqual(again.clock.remainingDelaysMs, [250]);
  await again.clock.advance(250);
  assert.equal((await first).attemptCount, 2);
});

test('X2 with --once-each any response is enough, but no response is not; a signal ends the wait', async () => {
  const once = createForwarder([{ kind: 'failed', cause: 'timeout', durationMs: 1 }, answered(500)], {
    onceEach: true,
  });
  const telling = once.made.forward(entry);
  await turn();
  await once.clock.advance(250);
  assert.deepEqual((await telling).outcome, answered(500));

  const down = createForwarder([{ kind: 'failed', cause: 'refused', durationMs: 1 }]);
  const waiting = assert.rejects(down.made.forward(entry), { name: 'AbortError' });
  await turn();
  down.stopped.abort();
  await waiting;
  assert.deepEqual([down.orders.length, down.clock.remainingDelaysMs], [1, []]);
});

test('X11 the headers describe the occurrence as those of a hook do', async () => {
  const { orders, made } = createForwarder([answered(200)]);
  await made.forward({ ...entry, kind: 'changed_task', fields: ['notes', 'progress'] });
  const described = ['webhook-event', 'changed_task', 'webhook-cursor', '42', 'webhook-fields', 'notes,progress'];
  assert.deepEqual(orders[0]?.headers, described);
});

test('X14 an entry of an earlier service, without fields, is forwarded', async () => {
  const { orders, made } = createForwarder([answered(200)]);
  const { fields: _, ...earlierEntry } = entry;
  await made.forward({ ...earlierEntry, kind: 'changed_task' } as FeedEntry);
  assert.deepEqual(orders[0]?.headers, ['webhook-event', 'changed_task', 'webhook-cursor', '42']);
});

test('X14 an entry of a later service, with a type of record that this version does not know, has no record', async () => {
  const nothing = () => undefined;
  const client = { connection: { service: 'http://a.test' }, carillon: {} } as ServiceClient;
  const { signal } = new AbortController();
  const hooks = { onUnreachable: nothing, onReachable: nothing };
  const reader = new FeedReader(client, { filters: {}, signal, clock: createTestClock(), ...hooks });
  assert.equal(await reader.fetchRecord({ ...entry, resource_url: 'http://a.test/v2/invoices/1' }), null);
});

test('X8 with a secret the request is signed like that of a hook', async () => {
  const secret = `whsec_${Buffer.from('a secret of a test').toString('base64')}`;
  const { orders, made } = createForwarder([answered(200)], { secret });
  const { webhookId } = await made.forward(entry);
  const [order] = orders;
  const [, timestamp, , signature] = order?.headers?.slice(4) ?? [];
  const hmac = createHmac('sha256', 'a secret of a test').update(`${webhookId}.${timestamp}.${order?.body}`);
  assert.equal(signature, `v1,${hmac.digest('base64')}`);
});

test('a Webhook-Id identifies one occurrence of one service, for every listener', () => {
  const id = createWebhookId(appListener, entry);
  assert.match(id, /^listen_42_[0-9a-f]{12}$/);
  assert.equal(createWebhookId({ ...appListener, forward_to: 'http://127.0.0.1:2/' }, entry), id);
  // A new database counts its cursors from 1 again, so the same cursor gets another Webhook-Id.
  assert.notEqual(createWebhookId(appListener, { ...entry, occurred_at: '2027-03-02 09:14:02' }), id);
});

test('an occurrence is one line: cut and colored on a terminal, complete and plain elsewhere and with NO_COLOR', () => {
  const forwardResult = { outcome: answered(200), webhookId: 'listen_42', attemptCount: 1 };
  const received = { entry, record: { task_name: `Write\u001b[31m ${'and write '.repeat(9)}` }, forwardResult };
  const pipe = {};
  const terminal = (environment: object) => {
    const depth = () => WriteStream.prototype.getColorDepth({ TERM: 'xterm-256color', ...environment });
    return { isTTY: true, columns: 80, getColorDepth: depth };
  };
  const lineOf = (what: HandledOccurrence, sink: Omit<OutputSink, 'write'>) => {
    const printed: string[] = [];
    printOccurrence(what, new Output({ ...sink, write: (text) => printed.push(text) }));
    return printed.join('').replace(/\n$/, '');
  };

  assert.match(
    lineOf(received, pipe),
    /^2027-03-01 09:14:02 {2}new_task {12}200 {10}9 ms {6}7 {2}Write\u{fffd}\[31m and write .* and write$/u,
  );
  assert.match(lineOf({ ...received, record: null }, pipe), /7 {2}\(gone\)$/);
  const coloured = lineOf(received, terminal({}));
  assert.ok(coloured.includes('\u001b[32m200    \u001b[39m'), coloured);
  const plain = lineOf(received, terminal({ NO_COLOR: '1' }));
  assert.ok(plain.length <= 80 && plain.endsWith('…') && !plain.includes('\u001b'), plain);
});

/** Runs `carillon listen` and returns the error message. Invalid flags are rejected before a connection is made. */
async function errorOfListen(...args: string[]): Promise<string> {
  const program = new Command('carillon').exitOverride().configureOutput({ outputError: () => undefined });
  addListenCommand(program);
  const ended = program.parseAsync(['listen', ...args], { from: 'user' });
  return ended.then(
    () => '',
    (error: Error) => error.message,
  );
}

test('invalid flags of listen are errors that name the flag', async () => {
  const mistakes: [string[], RegExp][] = [
    [['--kinds', 'new_task,nothing'], /^--kinds: nothing is not one of completed_subtask, /],
    [['--kinds', 'changed_task'], /^--kinds: changed_task is not one of/],
    [['--events', 'new_task,changed_hook'], /^--events: changed_hook is not one of .*\bchanged_task\b/],
    [['--events', 'new_task,*'], /^--events: \* is not one of/],
    [['--events', 'new_task', '--kinds', 'new_task'], /cannot be used with option/],
    [['--scope', 'team'], /Allowed choices are own, project, account/],
    [['--scope', 'project'], /^--scope project needs --project\.$/],
    [['--project', 'x'], /^--project must be the id of a project; x is not one\.$/],
    [['--forward-to', 'ftp://127.0.0.1/'], /^--forward-to must be an http or https address/],
    [['--forward-to', 'http://somebody:secret@127.0.0.1/'], /^--forward-to must be an http or https address[^@]*$/],
    [['--after', 'x'], /^--after must be a cursor; x is not one\.$/],
    [['--after', '1', '--from-now'], /cannot be used with option/],
    [['--from-oldest', '--from-now'], /cannot be used with option/],
    [['--timeout', '0s'], /^--timeout must be a duration/],
    [['--secret', 'whatever'], /^--secret must begin with whsec_, as the secret of a hook does\.$/],
  ];
  for (const [args, line] of mistakes) assert.match(await errorOfListen(...args), line);
});

test('a URL needs no scheme, and all kinds are selected by default', () => {
  const asked = readListenSettings({ timeout: '15s', forwardTo: 'localhost:3000/hook#part' });
  assert.deepEqual(
    [asked.target, asked.timeoutMs, asked.selectedKinds?.length],
    ['http://localhost:3000/hook', 15_000, 7],
  );
  assert.deepEqual(readListenSettings({ timeout: '1m', kinds: 'new_task, new_event' }).selectedKinds, [
    'new_event',
    'new_task',
  ]);
  const events = (text: string) => readListenSettings({ timeout: '1m', events: text }).selectedKinds;
  assert.deepEqual(events('new_task, deleted_task')?.toSorted(), ['deleted_task', 'new_task']);
  assert.equal(events('*'), undefined);
});

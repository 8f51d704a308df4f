import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { WriteStream } from 'node:tty';
import type { Notification } from '../../../packages/sdk/src/notifications.ts';
import { testClock } from '../../../test/kit/clock.ts';
import type { Outcome } from '../../delivery/dispatcher/attempt-outcome.ts';
import type { Attempt, Order } from '../../delivery/transport/attempt.ts';
import { Output, type Sink } from '../output/screen.ts';
import { Forwarder, webhookIdOf } from './forward.ts';
import { type HandledOccurrence, printOccurrence } from './print.ts';

const listener = {
  service: 'http://127.0.0.1:8080',
  domain: 'acme.test',
  user_id: '1',
  forward_to: 'http://127.0.0.1:1/',
  kinds: '',
  scope: 'own',
};
const entry: Notification = {
  cursor: '42',
  kind: 'new_task',
  resource_url: 'http://127.0.0.1:8080/v2/tasks/7',
  occurred_at: '2027-03-01 09:14:02',
  user_id: '1',
};
const answered = (status: number): Outcome => ({ kind: 'answered', status, ms: 9 });

/** A forwarder whose attempts have these outcomes in order, and then repeat the last one. */
function forwarder(outcomes: readonly Outcome[], options: { onceEach?: boolean; secret?: string } = {}) {
  const clock = testClock();
  const orders: Order[] = [];
  const failed: number[] = [];
  const stopped = new AbortController();
  const attempt: Attempt = async (order) => {
    orders.push(order);
    return outcomes[Math.min(orders.length, outcomes.length) - 1] ?? answered(200);
  };
  const made = new Forwarder(listener, {
    target: listener.forward_to,
    timeoutMs: 15_000,
    onceEach: options.onceEach ?? false,
    secret: options.secret,
    signal: stopped.signal,
    failed: (_entry, told) => failed.push(told.attempts),
    clock,
    attempt,
  });
  return { clock, orders, failed, stopped, made };
}

test('X2 an occurrence is sent again unchanged until the response is 200, with backoff up to half a minute', async () => {
  const refused: Outcome = { kind: 'failed', cause: 'refused', ms: 1 };
  const outcomes = [refused, answered(204), answered(500), ...Array.from({ length: 7 }, () => refused), answered(200)];
  const { clock, orders, failed, made } = forwarder(outcomes);
  const telling = made.tell(entry);
  const waits: number[] = [];
  for (let index = 1; index < outcomes.length; index += 1) {
    await turn();
    waits.push(...clock.pending);
    await clock.advance(clock.pending[0] ?? 0);
  }
  const told = await telling;
  assert.deepEqual(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.deepEqual([told.attempts, failed.length, told.outcome], [11, 10, answered(200)]);
  assert.equal(new Set(orders.map(({ deliveryId, body }) => `${deliveryId} ${body}`)).size, 1);
  assert.equal(orders[0]?.body, '{"resource_url":"http://127.0.0.1:8080/v2/tasks/7"}');
  assert.deepEqual(orders[0]?.signature, []);

  // A 200 resets the backoff.
  const again = forwarder([refused, answered(200)]);
  const first = again.made.tell(entry);
  await turn();
  assert.deepEqual(again.clock.pending, [250]);
  await again.clock.advance(250);
  assert.equal((await first).attempts, 2);
});

test('X2 with --once-each any response is enough, but no response is not; a signal ends the wait', async () => {
  const once = forwarder([{ kind: 'failed', cause: 'timeout', ms: 1 }, answered(500)], { onceEach: true });
  const telling = once.made.tell(entry);
  await turn();
  await once.clock.advance(250);
  assert.deepEqual((await telling).outcome, answered(500));

  const down = forwarder([{ kind: 'failed', cause: 'refused', ms: 1 }]);
  const waiting = assert.rejects(down.made.tell(entry), { name: 'AbortError' });
  await turn();
  down.stopped.abort();
  await waiting;
  assert.deepEqual([down.orders.length, down.clock.pending], [1, []]);
});

test('X8 with a secret the request is signed like that of a hook', async () => {
  const secret = `whsec_${Buffer.from('a secret of a test').toString('base64')}`;
  const { orders, made } = forwarder([answered(200)], { secret });
  const { webhookId } = await made.tell(entry);
  const [order] = orders;
  const [, timestamp, , signature] = order?.signature ?? [];
  const hmac = createHmac('sha256', 'a secret of a test').update(`${webhookId}.${timestamp}.${order?.body}`);
  assert.equal(signature, `v1,${hmac.digest('base64')}`);
});

test('a Webhook-Id identifies one occurrence of one service, for every listener', () => {
  const id = webhookIdOf(listener, entry);
  assert.match(id, /^listen_42_[0-9a-f]{12}$/);
  assert.equal(webhookIdOf({ ...listener, forward_to: 'http://127.0.0.1:2/' }, entry), id);
  // A new database counts its cursors from the start.
  assert.notEqual(webhookIdOf(listener, { ...entry, occurred_at: '2027-03-02 09:14:02' }), id);
});

test('an occurrence is one line: cut and colored on a terminal, complete and plain elsewhere and with NO_COLOR', () => {
  const told = { outcome: answered(200), webhookId: 'listen_42', attempts: 1 };
  const heard = { entry, record: { task_name: `Write\u001b[31m ${'and write '.repeat(9)}` }, told };
  const pipe = {};
  const terminal = (environment: object) => {
    const depth = () => WriteStream.prototype.getColorDepth({ TERM: 'xterm-256color', ...environment });
    return { isTTY: true, columns: 80, getColorDepth: depth };
  };
  const heardLine = (what: HandledOccurrence, sink: Omit<Sink, 'write'>) => {
    const printed: string[] = [];
    printOccurrence(what, new Output({ ...sink, write: (text) => printed.push(text) }));
    return printed.join('').replace(/\n$/, '');
  };

  assert.match(
    heardLine(heard, pipe),
    /^2027-03-01 09:14:02 {2}new_task {12}200 {10}9 ms {6}7 {2}Write\u{fffd}\[31m and write .* and write$/u,
  );
  assert.match(heardLine({ ...heard, record: null }, pipe), /7 {2}\(gone\)$/);
  const coloured = heardLine(heard, terminal({}));
  assert.ok(coloured.includes('\u001b[32m200    \u001b[39m'), coloured);
  const plain = heardLine(heard, terminal({ NO_COLOR: '1' }));
  assert.ok(plain.length <= 80 && plain.endsWith('…') && !plain.includes('\u001b'), plain);
});

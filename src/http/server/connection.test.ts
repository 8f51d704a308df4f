import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { isBodyTooSlow } from '../body/read-body.ts';
import { waitForNextIteration } from '../routes/pagination.ts';
import { Connection, isBodyDroppable } from './connection.ts';
import { ConnectionBurstDetector } from './connection-burst.ts';
import { defaultTimeouts } from './resource-limits.ts';

const deadlines = { headersMs: 10, keepAliveMs: 60, dropMs: 5, stallMs: 30 };

/** Creates a connection whose socket has counters that a test can set. */
function createConnection() {
  const counts = { bytesRead: 0, writableLength: 0, _handle: { bytesWritten: 0, writeQueueSize: 0 } };
  const socket = Object.defineProperties(
    new Socket(),
    Object.fromEntries(
      Object.keys(counts).map((name) => [name, { get: () => Reflect.get(counts, name), configurable: true }]),
    ),
  );
  const one = new Connection(socket, { group: 'visitors' }, 0);
  return { one, counts, at: (now: number) => one.checkDeadlines(now, deadlines) };
}

test('the head timeout starts with the connection and is not extended by arriving bytes', () => {
  const { counts, at } = createConnection();
  assert.equal(at(9), undefined);
  counts.bytesRead = 100;
  assert.equal(at(10), 'head_timeout');
});

test('an idle connection is closed after its timeout; the first byte of another request starts the head timeout', () => {
  const idle = createConnection();
  idle.one.enterPhase('idle', 0);
  assert.deepEqual([idle.at(0), idle.at(59), idle.at(60)], [undefined, undefined, 'idle']);
  const begun = createConnection();
  begun.one.enterPhase('idle', 0);
  begun.at(1);
  begun.counts.bytesRead = 1;
  assert.deepEqual([begun.at(50), begun.one.phase, begun.at(59)], [undefined, 'head', undefined]);
  assert.equal(begun.at(60), 'head_timeout');
});

test('an unneeded body is discarded for a limited time and up to 64 KiB; then the connection is idle', () => {
  const request = (complete: boolean) => ({ complete }) as IncomingMessage;
  const slow = createConnection();
  slow.one.enterPhase('dropping', 0);
  slow.one.request = request(false);
  assert.deepEqual([slow.at(4), slow.at(5)], [undefined, 'drop_timeout']);
  const large = createConnection();
  large.one.enterPhase('dropping', 0);
  large.one.request = request(false);
  large.at(1);
  large.counts.bytesRead = 64 * 1_024 + 1;
  assert.equal(large.at(2), 'drop_timeout');
  const whole = createConnection();
  whole.one.enterPhase('dropping', 0);
  whole.one.request = request(true);
  assert.deepEqual([whole.at(10), whole.one.phase], [undefined, 'idle']);
});

test('a connection has no timeout while its request is processed', () => {
  const { one, at } = createConnection();
  one.enterPhase('working', 0);
  assert.equal(at(1_000_000), undefined);
});

test('a client that reads nothing or very little is disconnected', () => {
  const { one, counts, at } = createConnection();
  one.enterPhase('working', 0);
  counts.writableLength = 1_000_000;
  counts._handle = { bytesWritten: 1_000_000, writeQueueSize: 900_000 };
  assert.deepEqual([at(0), at(29)], [undefined, undefined]);
  // The kernel has accepted a part of one long write.
  counts._handle.writeQueueSize -= 40_000;
  assert.deepEqual([at(30), at(59)], [undefined, undefined]);
  counts._handle.writeQueueSize -= 1_000;
  assert.equal(at(60), 'unread');
});

test('a client that reads the last few bytes of a response counts as reading', () => {
  const { one, counts, at } = createConnection();
  one.enterPhase('working', 0);
  counts.writableLength = 100;
  counts._handle = { bytesWritten: 100, writeQueueSize: 100 };
  at(0);
  counts.writableLength = 0;
  assert.equal(at(20), undefined);
  counts.writableLength = 100;
  assert.deepEqual([at(40), at(69), at(70)], [undefined, undefined, 'unread']);
});

test('the body of an authenticated caller needs a minimum rate after its grace period, any other has a fixed timeout', () => {
  const late = (isAuthenticated: boolean, ageMs: number, receivedBytes: number) =>
    isBodyTooSlow({ isAuthenticated, ageMs, receivedBytes }, defaultTimeouts);
  assert.deepEqual([late(true, 9_999, 0), late(true, 10_000, 0)], [false, true]);
  assert.deepEqual([late(true, 12_000, 16_385), late(true, 12_000, 16_384)], [false, true]);
  assert.deepEqual([late(false, 4_999, 0), late(false, 5_000, 60_000)], [false, true]);
});

test('the rest of an unneeded body is discarded if it is short and its length is known', () => {
  const request = (complete: boolean, headers: IncomingMessage['headers']) =>
    isBodyDroppable({ complete, headers } as IncomingMessage);
  assert.equal(request(false, {}), true);
  assert.equal(request(false, { 'content-length': '65536' }), true);
  assert.equal(request(false, { 'content-length': '65537' }), false);
  assert.equal(request(true, { 'content-length': '65537' }), true);
  assert.equal(request(false, { 'transfer-encoding': 'chunked' }), false);
});

function createBurst() {
  const time = { ms: 0 };
  const ran: string[] = [];
  const burst = new ConnectionBurstDetector({ monotonic: () => time.ms });
  return {
    time,
    ran,
    burst,
    postpone: (name: string, maxDelayMs = 500) => burst.runAfterBurst(maxDelayMs, () => ran.push(name)),
  };
}

test('a job runs immediately without a burst, and after an iteration without a new connection during one', async () => {
  const { burst, ran, postpone } = createBurst();
  postpone('before');
  assert.deepEqual(ran, ['before']);
  burst.recordConnection();
  postpone('first');
  for (let accepted = 0; accepted < 5; accepted += 1) {
    burst.recordConnection();
    await waitForNextIteration();
  }
  postpone('second');
  assert.deepEqual(ran, ['before']);
  await waitForNextIteration();
  assert.deepEqual(ran, ['before', 'first', 'second']);
  postpone('after');
  assert.equal(ran.at(-1), 'after');
});

test('a burst without end delays each job by its maximum delay', async () => {
  const { time, burst, ran, postpone } = createBurst();
  const acceptAt = async (ms: number) => {
    time.ms = ms;
    burst.recordConnection();
    await waitForNextIteration();
    return ran.length;
  };
  burst.recordConnection();
  postpone('first');
  time.ms = 200;
  postpone('second');
  postpone('urgent', 20);
  assert.deepEqual([await acceptAt(219), await acceptAt(220)], [0, 1]);
  assert.deepEqual([await acceptAt(499), await acceptAt(500)], [1, 2]);
  assert.deepEqual([await acceptAt(699), await acceptAt(700)], [2, 3]);
  assert.deepEqual(ran, ['urgent', 'first', 'second']);
});

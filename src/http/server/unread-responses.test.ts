import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import type { QuotaOwner } from '../../async/quota.ts';
import { Connection } from './connection.ts';
import { UnreadResponseQuota } from './response-buffers.ts';

const A1: QuotaOwner = { group: 1, member: 11 };
const A2: QuotaOwner = { group: 1, member: 12 };
const A3: QuotaOwner = { group: 1, member: 13 };
const B1: QuotaOwner = { group: 2, member: 21 };

/** Creates a quota of 80 bytes: 20 for an account, 10 for a user. */
function createBuffers() {
  const cut: Connection[] = [];
  const all = new UnreadResponseQuota(80, (connection) => cut.push(connection));
  const connection = (owner: QuotaOwner, isEnded = true) => {
    const waiting = { bytes: 0 };
    const socket = Object.defineProperty(new Socket(), 'writableLength', { get: () => waiting.bytes });
    const one = new Connection(socket, { group: 'visitors' }, 0);
    one.responseOwner = owner;
    one.response = { writableEnded: isEnded } as ServerResponse;
    const wait = (bytes: number) => {
      waiting.bytes = bytes;
      all.recordBufferedBytes(one);
    };
    return { one, waiting, wait };
  };
  return { all, cut, connection };
}

test('unread bytes count for a user and its account until they are read or the connection closes', () => {
  const { all, connection } = createBuffers();
  const first = connection(A1);
  first.wait(8);
  assert.deepEqual([all.hasCapacity(A1, 2), all.hasCapacity(A1, 3), all.hasCapacity(A2, 10)], [true, false, true]);
  const second = connection(A2);
  second.wait(10);
  assert.deepEqual([all.hasCapacity(A3, 2), all.hasCapacity(A3, 3), all.hasCapacity(B1, 10)], [true, false, true]);
  // The client has read a part of the response.
  first.waiting.bytes = 1;
  all.refreshAllConnections();
  assert.deepEqual([all.hasCapacity(A1, 9), all.hasCapacity(A3, 9)], [true, true]);
  all.releaseCharge(first.one);
  all.releaseCharge(second.one);
  assert.equal(all.hasCapacity(A1, 10), true);
});

test('a streamed response is cut beyond the limit, and a complete one is kept', () => {
  const { all, cut, connection } = createBuffers();
  connection(A1).wait(11);
  assert.deepEqual([cut, all.hasCapacity(A1)], [[], false]);
  const stream = connection(A2, false);
  stream.wait(9);
  assert.deepEqual(cut, []);
  stream.wait(10);
  assert.deepEqual(cut, [stream.one], 'the account has its share');
});

test('unread bytes stay charged to their owner when another user sends the next request over the connection', () => {
  const { all, connection } = createBuffers();
  const proxied = connection(A1);
  proxied.wait(10);
  proxied.one.responseOwner = B1;
  proxied.wait(10);
  assert.deepEqual([all.hasCapacity(A1, 1), all.hasCapacity(B1, 10)], [false, true]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MIN_LARGE_BYTES, ResponseSizes } from './response-sizes.ts';

test('a route that sent a user a large response is expected to send as much again, until it sends less', () => {
  const sizes = new ResponseSizes();
  sizes.note(1, '/tasks', 10);
  assert.equal(sizes.expected(1, '/tasks'), 0);
  sizes.note(1, '/tasks', 1_000_000);
  assert.deepEqual([sizes.expected(1, '/tasks'), sizes.expected(2, '/tasks'), sizes.expected(1, '/a')], [1e6, 0, 0]);
  sizes.note(1, '/tasks', MIN_LARGE_BYTES);
  assert.equal(sizes.expected(1, '/tasks'), MIN_LARGE_BYTES);
  sizes.note(1, '/tasks', MIN_LARGE_BYTES - 1);
  assert.equal(sizes.expected(1, '/tasks'), 0);
});

test('beyond ten thousand entries the oldest is evicted', () => {
  const sizes = new ResponseSizes();
  for (let user = 0; user <= 10_000; user += 1) sizes.note(user, '/tasks', 1_000_000);
  assert.deepEqual([sizes.expected(0, '/tasks'), sizes.expected(1, '/tasks')], [0, 1_000_000]);
});

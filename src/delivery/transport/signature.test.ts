import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addSecret, createSignatureHeaders, findOverlapEnd, parseSecrets, type SigningSecret } from './signature.ts';

const NOW = 1_000_000;
const secretOf = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;
const add = (present: readonly SigningSecret[], letter: string, now: number, overlapMs: number) =>
  addSecret(present, { secret: secretOf(letter), now, overlapMs });

test('X8 the example of Standard Webhooks has the signature of its specification', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const [, timestamp, , signature] = createSignatureHeaders([{ secret, since: 0, until: null }], {
    webhookId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    body: '{"test": 2432232314}',
    sentAt: 1_614_265_330_999,
  });
  assert.deepEqual([timestamp, signature], ['1614265330', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=']);
});

test('X8 a rotation does not extend older secrets, and the oldest are dropped beyond the limit', () => {
  const two = add(add([], 'a', NOW, 0), 'b', NOW + 10, 100);
  assert.deepEqual(
    add(two, 'c', NOW + 20, 1_000).map(({ until }) => until),
    [null, NOW + 1_020, NOW + 110],
  );
  assert.deepEqual(
    add(two, 'c', NOW + 20, 30).map(({ until }) => until),
    [null, NOW + 50, NOW + 50],
  );
  const many = [...'abcdefgh'].reduce((present, letter) => add(present, letter, NOW, 1_000), parseSecrets(null));
  assert.deepEqual(
    many.map(({ secret }) => secret),
    [...'hgfed'].map(secretOf),
  );
  assert.equal(findOverlapEnd(many, NOW + 999), NOW + 1_000);
  assert.equal(findOverlapEnd(many, NOW + 1_000), null);
});

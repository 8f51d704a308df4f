import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COST, hashToken, newToken, Passphrases, systemChance } from './secrets.ts';

/** Dear enough to be scrypt, and no more. */
const CHEAP = { logN: 4, r: 8, p: 1 };
const passphrases = new Passphrases(systemChance, CHEAP);
const PASSPHRASE = 'correct horse battery staple';

test('a passphrase matches what was stored of it, and nothing else does, however it was typed', async () => {
  const stored = await passphrases.hash('Zoë goes by train');
  assert.equal(await passphrases.matches('Zoë goes by train', stored), true);
  assert.equal(await passphrases.matches('Zoe\u0308 goes by train', stored), true, 'the same signs, put together');
  for (const other of ['Zoe goes by train', 'zoë goes by train', ' Zoë goes by train', ''])
    assert.equal(await passphrases.matches(other, stored), false, other);
  assert.equal(await passphrases.matches('Zoë goes by train', undefined), false);
});

test('what is stored says how it was made, has a salt of its own, and can be made dearer', async () => {
  const [one, other] = [await passphrases.hash(PASSPHRASE), await passphrases.hash(PASSPHRASE)];
  assert.match(one, /^scrypt:4:8:1:[\w-]{22}:[\w-]{43}$/);
  assert.notEqual(one, other);
  const dearer = new Passphrases(systemChance, { ...CHEAP, logN: 5 });
  assert.equal(await dearer.matches(PASSPHRASE, one), true);
  assert.deepEqual([dearer.isOutdated(one), passphrases.isOutdated(one)], [true, false]);
  await assert.rejects(passphrases.matches(PASSPHRASE, 'scrypt:4:8'), /no hash of a passphrase/);
});

test('a new passphrase is hashed by 32 MiB, three times over', async () => {
  assert.match(await new Passphrases(systemChance, COST).hash(PASSPHRASE), /^scrypt:15:8:3:/);
});

test('two are hashed at once, 32 wait, and one more is told that there are too many', async () => {
  const all = await Promise.allSettled(Array.from({ length: 40 }, () => passphrases.hash(PASSPHRASE)));
  const refused = all.filter((one) => one.status === 'rejected').map(({ reason }) => reason.code);
  assert.deepEqual(refused, Array(6).fill('overloaded'));
  assert.equal(await passphrases.matches(PASSPHRASE, undefined), false, 'and there is room again');
});

test('a token is 256 bits of chance, of which only a hash is stored', () => {
  const token = newToken(systemChance);
  assert.match(token, /^[\w-]{43}$/);
  assert.notEqual(newToken(systemChance), token);
  assert.match(hashToken(token), /^[\w-]{43}$/);
  assert.notEqual(hashToken(token), token);
});

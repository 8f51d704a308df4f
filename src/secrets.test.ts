import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeHashLimits, hashToken, newToken, PassphraseHasher, SCRYPT_COST, systemRandom } from './secrets.ts';

/** A very low cost, so that the tests are fast. */
const CHEAP = { logN: 4, r: 8, p: 1 };
const passphrases = new PassphraseHasher(systemRandom, CHEAP);
/** The network that the requests of these tests come from. */
const HERE = '192.0.2.1';
const PASSPHRASE = 'correct horse battery staple';

test('only the same passphrase matches its hash, in any Unicode composition', async () => {
  const stored = await passphrases.hash('Zoë goes by train', HERE);
  assert.equal(await passphrases.matches('Zoë goes by train', stored, HERE), true);
  assert.equal(
    await passphrases.matches('Zoe\u0308 goes by train', stored, HERE),
    true,
    'the same characters, composed differently',
  );
  for (const other of ['Zoe goes by train', 'zoë goes by train', ' Zoë goes by train', ''])
    assert.equal(await passphrases.matches(other, stored, HERE), false, other);
  assert.equal(await passphrases.matches('Zoë goes by train', undefined, HERE), false);
});

test('a hash contains its parameters and its own salt, and the cost can be increased', async () => {
  const [one, other] = [await passphrases.hash(PASSPHRASE, HERE), await passphrases.hash(PASSPHRASE, HERE)];
  assert.match(one, /^scrypt:4:8:1:[\w-]{22}:[\w-]{43}$/);
  assert.notEqual(one, other);
  const dearer = new PassphraseHasher(systemRandom, { ...CHEAP, logN: 5 });
  assert.equal(await dearer.matches(PASSPHRASE, one, HERE), true);
  assert.deepEqual([dearer.isOutdated(one), passphrases.isOutdated(one)], [true, false]);
  await assert.rejects(passphrases.matches(PASSPHRASE, 'scrypt:4:8', HERE), /no hash of a passphrase/);
});

test('a new passphrase is hashed with 32 MiB, three times', async () => {
  assert.match(await new PassphraseHasher(systemRandom, SCRYPT_COST).hash(PASSPHRASE, HERE), /^scrypt:15:8:3:/);
});

test('hashing leaves one core and two of the four libuv threads free', () => {
  assert.deepEqual(
    [1, 2, 3, 16].map((cores) => computeHashLimits(cores).maxActive),
    [1, 1, 2, 2],
  );
});

test('one network has a quarter of the queue of 32, and networks are served round-robin', async () => {
  const two = new PassphraseHasher(systemRandom, CHEAP, computeHashLimits(2));
  const done: string[] = [];
  const from = (network: string, count: number) =>
    Array.from({ length: count }, () => two.hash(PASSPHRASE, network).then(() => done.push(network)));
  const refusedOf = async (all: readonly Promise<unknown>[]) => {
    const settled = await Promise.allSettled(all);
    return settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason.code);
  };
  const [flood, honest, others] = await Promise.all([
    refusedOf(from('192.0.2.1', 60)),
    refusedOf(from('192.0.2.2', 1)),
    refusedOf([3, 4, 5].flatMap((last) => from(`192.0.2.${last}`, 8))),
  ]);
  assert.deepEqual(flood, Array(51).fill('overloaded'), 'one is hashed and eight wait');
  assert.deepEqual(honest, []);
  assert.equal(done.indexOf('192.0.2.2'), 1, 'behind the one that was being hashed');
  assert.deepEqual(others, ['overloaded'], 'the queue is full');
  assert.equal(await two.matches(PASSPHRASE, undefined, HERE), false, 'and there is room again');
});

test('a token has 256 random bits, and only its hash is stored', () => {
  const token = newToken(systemRandom);
  assert.match(token, /^[\w-]{43}$/);
  assert.notEqual(newToken(systemRandom), token);
  assert.match(hashToken(token), /^[\w-]{43}$/);
  assert.notEqual(hashToken(token), token);
});

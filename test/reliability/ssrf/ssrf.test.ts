import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { SsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import { checkForms, corpusGuard, forbiddenForms, publicForms } from './cases.ts';
import { deliverToLoopback, deliverToRebindingNames } from './loopback.ts';
import { checkEmbeddings, compareWithOracle, guardChecks, isReachable, parseAddress } from './oracle.ts';

test('R8 the corpus has at least 400 forbidden and 60 public forms, without duplicates', () => {
  assert.ok(forbiddenForms.length >= 400 && publicForms.length >= 60);
  assert.equal(new Set([...forbiddenForms, ...publicForms]).size, forbiddenForms.length + publicForms.length);
});

test('R8 the oracle follows the registries and parses addresses as kernels print them', () => {
  const forbidden = [
    '0.0.0.0',
    '10.255.255.255',
    '127.0.0.1',
    '192.0.0.9',
    '168.63.129.16',
    '255.255.255.255',
    '::',
    '::1',
  ];
  forbidden.push(
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b:1::808:808',
    'fe80::1%lo',
    '2002:a00:1::',
    '3fff::',
    '4000::',
  );
  for (const address of forbidden) assert.equal(isReachable(parseAddress(address)), false, address);
  const open = [
    '8.8.8.8',
    '11.0.0.0',
    '192.0.1.0',
    '2606:4700::1',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::',
  ];
  for (const address of open) assert.equal(isReachable(parseAddress(address)), true, address);
});

const countViolations = async (figure: Promise<{ broken: readonly string[] }>) => (await figure).broken.length;

test('R8 a guard that overlooks a block or an embedding is reported', async () => {
  const checkLiteral = guardChecks['written out'];
  const wrong = {
    'shared address space': async (text: string) => text.startsWith('100.64.') || checkLiteral(text),
    'the last address of a block': async (text: string) => text === '172.31.255.255' || checkLiteral(text),
    'neighbours of a block': async (text: string) => !text.startsWith('3ffd:') && checkLiteral(text),
    'a Teredo client': async (text: string) => text.startsWith('2001:0:808:808:') || checkLiteral(text),
  };
  for (const [what, judge] of Object.entries(wrong)) {
    assert.ok((await countViolations(compareWithOracle({ [what]: judge }, seededRandom(1), 100))) > 0, what);
  }
  const translated = async (text: string) => text.startsWith('64:ff9b:') || checkLiteral(text);
  assert.equal(await countViolations(checkEmbeddings(checkLiteral, 1, 500)), 0);
  assert.equal(await countViolations(checkEmbeddings(translated, 1, 500)), 1);
});

/** A guard that allows everything. */
const allowingGuard: SsrfGuard = {
  checkTarget: async ({ hostname }) => ({
    allowed: true,
    addresses: [{ address: hostname.includes(':') ? '::1' : '127.0.0.1', family: 4 }],
  }),
};

test('R8 a guard that allows a forbidden form, or rejects a public one, is reported', async () => {
  const literal = 'http://127.0.0.1/';
  const rejectingGuard: SsrfGuard = {
    checkTarget: async () => ({ allowed: false, publicReason: 'forbidden', address: literal }),
  };
  assert.equal(await countViolations(checkForms(allowingGuard, [literal])), 1);
  assert.equal(await countViolations(checkForms(rejectingGuard, [literal])), publicForms.length);
  assert.equal(await countViolations(checkForms(corpusGuard, [literal])), 0);
});

test('R8 a delivery to loopback is reported, and so is a second lookup before the connection', async (t) => {
  const { counts, broken } = await deliverToLoopback(t, ['http://127.1/', 'http://localhost:6379/'], allowingGuard);
  assert.deepEqual([counts['hits on loopback'], broken.length], [2, 3]);
  const twice: Parameters<typeof deliverToRebindingNames>[3] = (resolve) => ({
    checkTarget: async () => {
      await resolve('turning.example', 0);
      const again = await resolve('turning.example', 0);
      const addresses = 'addresses' in again ? again.addresses : [];
      return { allowed: true, addresses: addresses.map((address) => ({ address, family: 4 as const })) };
    },
  });
  assert.ok((await countViolations(deliverToRebindingNames(t, seededRandom(1), 1, twice))) > 2);
});

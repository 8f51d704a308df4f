import { createSsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import { fc } from '../../kit/fast-check.ts';
import type { SeededChance } from '../../kit/random.ts';
import type { RunResult } from '../reliability-test.ts';
import { embeddings } from './embeddings.ts';
import { type Address, format, reachable, specialBlocks } from './oracle.ts';

/** Whether a target at this address is allowed. */
export type TargetCheck = (address: string) => Promise<boolean>;

/** Asks the guard about a literal address, and about a name that resolves to it. */
export const guardChecks = {
  'written out': (address: string) => isAllowed(`http://${address.includes(':') ? `[${address}]` : address}/`, address),
  'behind a name': (address: string) => isAllowed('http://target.example/', address),
};

async function isAllowed(target: string, address: string): Promise<boolean> {
  const resolve = async () => ({ addresses: [address] });
  const verdict = await createSsrfGuard({ resolve, allow: [], loopbackAllowed: false }).check(new URL(target));
  return 'allowed' in verdict && verdict.allowed;
}

/**
 * Compares the guard with the oracle: at the edges of every block, in every embedding of these, and at random
 * addresses.
 */
export async function compareWithOracle(
  checks: Readonly<Record<string, TargetCheck>>,
  random: SeededChance,
  many: number,
): Promise<RunResult> {
  const broken: string[] = [];
  const addresses = [...edges(), ...randomAddresses(random, many)];
  for (const address of addresses) {
    const [text, expected] = [format(address), reachable(address)];
    for (const [how, check] of Object.entries(checks)) {
      if ((await check(text)) !== expected) {
        broken.push(`${text} ${how}: the oracle ${expected ? 'allows' : 'forbids'} it, the guard does not`);
      }
    }
  }
  return { counts: { 'addresses compared with the oracle': addresses.length }, broken };
}

/** Checks the embeddings as a property, so that a counterexample is shrunk. */
export async function checkEmbeddings(check: TargetCheck, seed: number, many: number): Promise<RunResult> {
  const [ipv4Edges, any] = [edges().filter(({ family }) => family === 4), { min: 0n, max: 2n ** 32n - 1n }];
  const ipv4s = fc.oneof(fc.bigInt(any), fc.constantFrom(...ipv4Edges.map(({ value }) => value)));
  const chaffs = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
  const law = fc.asyncProperty(ipv4s, chaffs, fc.constantFrom(...embeddings), async (ipv4, chaff, embedding) => {
    const written = format({ family: 6, value: embedding.embed(ipv4, chaff) });
    const inside = format({ family: 4, value: ipv4 });
    const expected = embedding.allowed === 'as its IPv4' && (await check(inside));
    if ((await check(written)) !== expected)
      throw new Error(`${embedding.name}: ${written} is not judged as ${inside}`);
  });
  const { failed, errorInstance, numRuns } = await fc.check(law, { seed, numRuns: many });
  return {
    counts: { 'embeddings checked': numRuns },
    broken: failed ? [`embedding law: ${errorInstance instanceof Error ? errorInstance.message : errorInstance}`] : [],
  };
}

const END = { 4: 1n << 32n, 6: 1n << 128n } as const;

/** The first and last address of every block and their neighbors; those of IPv4 also in every embedding. */
function edges(): Address[] {
  const plain = specialBlocks.flatMap(({ family, first, last }) =>
    [first - 1n, first, first + 1n, last - 1n, last, last + 1n]
      .filter((value) => value >= 0n && value < END[family])
      .map((value): Address => ({ family, value })),
  );
  const inside = plain.filter(({ family }) => family === 4);
  const written = embeddings.flatMap(({ embed }) =>
    inside.map(({ value }): Address => ({ family: 6, value: embed(value, 0n) })),
  );
  return [...plain, ...written];
}

/** Random addresses: IPv4, global unicast, any IPv6, in a special block, or with an embedded IPv4 address. */
function randomAddresses(random: SeededChance, many: number): Address[] {
  const bits = (count: number): bigint =>
    count <= 32 ? BigInt(random.below(2 ** count)) : (bits(count - 32) << 32n) | bits(32);
  const generators: readonly (() => Address)[] = [
    () => ({ family: 4, value: bits(32) }),
    () => ({ family: 6, value: (1n << 125n) | bits(125) }),
    () => ({ family: 6, value: bits(128) }),
    () => {
      const { family, first, last } = random.one(specialBlocks);
      return { family, value: first + (bits(128) % (last - first + 1n)) };
    },
    () => ({ family: 6, value: random.one(embeddings).embed(bits(32), bits(128)) }),
  ];
  return Array.from({ length: many }, () => random.one(generators)());
}

import { createSsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import { fc } from '../../kit/fast-check.ts';
import type { SeededRandom } from '../../kit/random.ts';
import type { RunResult } from '../reliability-test.ts';
import { embeddings } from './cases.ts';
import { special4, special6, stricter } from './registry.ts';

/** An address as an integer. */
export type Address = { readonly family: 4 | 6; readonly value: bigint };
/** A block of addresses, both ends inclusive. */
export type Block = { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint };

const width = { 4: 32n, 6: 128n } as const;

/** Parses an address: `10.0.0.0`, `64:ff9b::`, `::ffff:10.0.0.1`, `fe80::1%lo`. */
export function parse(text: string): Address {
  const address = text.replace(/%.*/, '');
  const dotted = /[\d.]+$/.exec(address)?.[0] ?? '';
  if (!address.includes(':')) return { family: 4, value: joined(address.split('.').map(BigInt), 8n) };
  const tail = dotted.includes('.') ? joined(dotted.split('.').map(BigInt), 8n) : undefined;
  const plain =
    tail === undefined
      ? address
      : `${address.slice(0, -dotted.length)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [before = '', after] = plain.split('::');
  const words = (part: string) => (part === '' ? [] : part.split(':').map((word) => BigInt(`0x${word}`)));
  const [front, back] = [words(before), words(after ?? '')];
  const gap = after === undefined ? [] : new Array<bigint>(8 - front.length - back.length).fill(0n);
  return { family: 6, value: joined([...front, ...gap, ...back], 16n) };
}
const joined = (parts: readonly bigint[], size: bigint) => parts.reduce((sum, part) => (sum << size) | part, 0n);

/** Formats an address, IPv6 with all eight groups. */
export function format({ family, value }: Address): string {
  const parts = family === 4 ? 4 : 8;
  const size = width[family] / BigInt(parts);
  const part = (at: number) => (value >> (size * BigInt(parts - 1 - at))) & ((1n << size) - 1n);
  const all = Array.from({ length: parts }, (_, at) => part(at));
  return family === 4 ? all.join('.') : all.map((word) => word.toString(16)).join(':');
}

/** Parses CIDR notation. */
export function block(cidr: string): Block {
  const [address = '', length = ''] = cidr.split('/');
  const { family, value } = parse(address);
  return { family, first: value, last: value | ((1n << (width[family] - BigInt(length))) - 1n) };
}

const rows = [
  ...[...special4, ...special6].map((row) => ({ ...block(row.block), reachable: row.reachable })),
  ...stricter.map((cidr) => ({ ...block(cidr), reachable: undefined })),
];

/** Every block with an entry in a registry. */
export const specialBlocks: readonly Block[] = rows;

const isIn = (address: Address, { family, first, last }: Block) =>
  family === address.family && first <= address.value && address.value <= last;

/** Whether the registries allow an address itself. The narrowest block decides; of equal ones, the stricter. */
function isRegisteredReachable(address: Address): boolean {
  const speaking = rows.filter((row) => isIn(address, row));
  const narrowest = speaking.map(({ first, last }) => last - first).sort((a, b) => (a < b ? -1 : 1))[0];
  return speaking.every((row) => row.last - row.first !== narrowest || row.reachable === true);
}

const low = (value: bigint) => [value & 0xffffffffn];

/** Blocks that only embed IPv4: packets go to the embedded address, which decides. */
const carriers: readonly (readonly [Block, (value: bigint) => readonly bigint[]])[] = [
  [block('::/96'), low], // RFC 4213, 2893: tunnelled to it
  [block('::ffff:0:0/96'), low], // RFC 4291: this machine dials it
  [block('::ffff:0:0:0/96'), low], // RFC 2765: translated into it
  [block('64:ff9b::/96'), low], // RFC 6052: translated into it
  [block('2002::/16'), (value) => low(value >> 80n)], // RFC 3056: tunnelled to it
  // RFC 4380: addresses of the server, and of the client with inverted bits.
  [block('2001::/32'), (value) => [...low(value >> 64n), ...low(~value & 0xffffffffn)]],
];

/**
 * RFC 5214, 6.1: `0:5efe` in the interface identifier, with the u and g bits ignored, is followed by an IPv4
 * address.
 */
function isatap(value: bigint): readonly bigint[] {
  const identifier = (value >> 32n) & 0xffffffffn;
  return (identifier & 0xfcffffffn) === 0x5efen ? low(value) : [];
}

/**
 * Whether a target at this address is allowed. Written only from the registries and RFCs, to be compared with
 * the guard: it shares no code and no library with it.
 */
export function reachable(address: Address): boolean {
  if (address.family === 4) return isRegisteredReachable(address);
  const carrier = carriers.find(([carrying]) => isIn(address, carrying));
  const carried = [...(carrier?.[1](address.value) ?? []), ...isatap(address.value)];
  const itself = carrier !== undefined || isRegisteredReachable(address);
  return itself && carried.every((value) => isRegisteredReachable({ family: 4, value }));
}

/** The address that the kernel connects to: for a mapped address the IPv4 address. */
export const connectedAddress = ({ value }: Address): bigint =>
  value >> 32n === 0xffffn ? value & 0xffffffffn : value;

/** Addresses that accept no connection: multicast and limited broadcast. */
export function isUnconnectable(address: Address): boolean {
  const value = connectedAddress(address);
  if (value >> 32n !== 0n) return value >> 120n === 0xffn;
  return value >> 28n === 0xen || value === 0xffffffffn;
}

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
  random: SeededRandom,
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
function randomAddresses(random: SeededRandom, many: number): Address[] {
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

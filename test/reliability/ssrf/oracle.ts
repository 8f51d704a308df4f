import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { createSsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import { fc } from '../../kit/packages.ts';
import type { RunResult } from '../reliability-test.ts';
import { embeddings } from './cases.ts';

/** A block of addresses with a reserved purpose. */
export type SpecialBlock = {
  readonly block: string;
  /**
   * "Globally Reachable" in its registry: packets may be forwarded beyond the site. Undefined for N/A or no
   * entry.
   */
  readonly reachable: boolean | undefined;
  /** The RFC that defines the block. */
  readonly source: string;
};

/**
 * The IANA IPv4 Special-Purpose Address Registry, and the blocks without hosts of the IPv4 Address Space
 * Registry.
 */
const specialIpv4Blocks: readonly SpecialBlock[] = [
  { block: '0.0.0.0/8', reachable: false, source: 'RFC 791: this network' },
  { block: '0.0.0.0/32', reachable: false, source: 'RFC 1122: this host on this network' },
  { block: '10.0.0.0/8', reachable: false, source: 'RFC 1918' },
  { block: '100.64.0.0/10', reachable: false, source: 'RFC 6598: shared address space' },
  { block: '127.0.0.0/8', reachable: false, source: 'RFC 1122: loopback' },
  { block: '169.254.0.0/16', reachable: false, source: 'RFC 3927: link-local' },
  { block: '172.16.0.0/12', reachable: false, source: 'RFC 1918' },
  { block: '192.0.0.0/24', reachable: false, source: 'RFC 6890: protocol assignments' },
  { block: '192.0.0.0/29', reachable: false, source: 'RFC 7335: IPv4 service continuity' },
  { block: '192.0.0.8/32', reachable: false, source: 'RFC 7600: dummy address' },
  { block: '192.0.0.9/32', reachable: true, source: 'RFC 7723: port control protocol anycast' },
  { block: '192.0.0.10/32', reachable: true, source: 'RFC 8155: TURN anycast' },
  { block: '192.0.0.170/31', reachable: false, source: 'RFC 7050: NAT64 discovery' },
  { block: '192.0.2.0/24', reachable: false, source: 'RFC 5737: documentation' },
  { block: '192.31.196.0/24', reachable: true, source: 'RFC 7535: AS112' },
  { block: '192.52.193.0/24', reachable: true, source: 'RFC 7450: automatic multicast tunnelling' },
  { block: '192.88.99.0/24', reachable: undefined, source: 'RFC 7526: 6to4 relay anycast, deprecated' },
  { block: '192.88.99.2/32', reachable: false, source: 'RFC 6751: 6a44 relay anycast' },
  { block: '192.168.0.0/16', reachable: false, source: 'RFC 1918' },
  { block: '192.175.48.0/24', reachable: true, source: 'RFC 7534: AS112, delegated directly' },
  { block: '198.18.0.0/15', reachable: false, source: 'RFC 2544: benchmarking' },
  { block: '198.51.100.0/24', reachable: false, source: 'RFC 5737: documentation' },
  { block: '203.0.113.0/24', reachable: false, source: 'RFC 5737: documentation' },
  { block: '224.0.0.0/4', reachable: undefined, source: 'RFC 1112: multicast' },
  { block: '240.0.0.0/4', reachable: false, source: 'RFC 1112: reserved' },
  { block: '255.255.255.255/32', reachable: false, source: 'RFC 8190: limited broadcast' },
];

/**
 * The IANA IPv6 Special-Purpose Address Registry, and the IPv6 Address Space Registry: unicast is allocated
 * only from 2000::/3.
 */
const specialIpv6Blocks: readonly SpecialBlock[] = [
  { block: '::/0', reachable: undefined, source: 'RFC 4291: reserved by IETF' },
  { block: '2000::/3', reachable: true, source: 'RFC 4291: global unicast' },
  { block: '::/128', reachable: false, source: 'RFC 4291: unspecified' },
  { block: '::1/128', reachable: false, source: 'RFC 4291: loopback' },
  { block: '::/96', reachable: undefined, source: 'RFC 4291: IPv4-compatible, deprecated' },
  { block: '::ffff:0:0/96', reachable: false, source: 'RFC 4291: IPv4-mapped' },
  { block: '::ffff:0:0:0/96', reachable: undefined, source: 'RFC 2765: IPv4-translated, given up' },
  { block: '64:ff9b::/96', reachable: true, source: 'RFC 6052: IPv4 behind a translator' },
  { block: '64:ff9b:1::/48', reachable: false, source: 'RFC 8215: IPv4 behind a translator of the site' },
  { block: '100::/64', reachable: false, source: 'RFC 6666: discard-only' },
  { block: '100:0:0:1::/64', reachable: false, source: 'RFC 9780: dummy prefix' },
  { block: '2001::/23', reachable: false, source: 'RFC 2928: protocol assignments' },
  { block: '2001::/32', reachable: undefined, source: 'RFC 4380: Teredo' },
  { block: '2001:1::1/128', reachable: true, source: 'RFC 7723: port control protocol anycast' },
  { block: '2001:1::2/128', reachable: true, source: 'RFC 8155: TURN anycast' },
  { block: '2001:1::3/128', reachable: true, source: 'RFC 9665: DNS-SD registration anycast' },
  { block: '2001:2::/48', reachable: false, source: 'RFC 5180: benchmarking' },
  { block: '2001:3::/32', reachable: true, source: 'RFC 7450: automatic multicast tunnelling' },
  { block: '2001:4:112::/48', reachable: true, source: 'RFC 7535: AS112' },
  { block: '2001:10::/28', reachable: undefined, source: 'RFC 4843: ORCHID, given up' },
  { block: '2001:20::/28', reachable: true, source: 'RFC 7343: ORCHIDv2' },
  { block: '2001:30::/28', reachable: true, source: 'RFC 9374: drone remote id' },
  { block: '2001:db8::/32', reachable: false, source: 'RFC 3849: documentation' },
  { block: '2002::/16', reachable: undefined, source: 'RFC 3056: 6to4' },
  { block: '2620:4f:8000::/48', reachable: true, source: 'RFC 7534: AS112, delegated directly' },
  { block: '3ffe::/16', reachable: undefined, source: 'RFC 3701: 6bone, given back' },
  { block: '3fff::/20', reachable: false, source: 'RFC 9637: documentation' },
  { block: '5f00::/16', reachable: false, source: 'RFC 9602: segment routing identifiers' },
  { block: 'fc00::/7', reachable: false, source: 'RFC 4193: unique local' },
  { block: 'fe80::/10', reachable: false, source: 'RFC 4291: link-local' },
  { block: 'fec0::/10', reachable: undefined, source: 'RFC 3879: site-local, deprecated' },
  { block: 'ff00::/8', reachable: undefined, source: 'RFC 4291: multicast' },
];

/**
 * Globally reachable blocks that the guard forbids nevertheless. An anycast address leads to the nearest host,
 * which may belong to the operator. Identifiers are no locations. Azure serves its host agent at a public address.
 */
export const forbiddenDespiteRegistry: readonly string[] = [
  '168.63.129.16/32',
  '192.0.0.9/32',
  '192.0.0.10/32',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.175.48.0/24',
  '2001:1::1/128',
  '2001:1::2/128',
  '2001:1::3/128',
  '2001:3::/32',
  '2001:4:112::/48',
  '2001:20::/28',
  '2001:30::/28',
  '2620:4f:8000::/48',
];

/** An address as an integer. */
export type IpAddress = { readonly family: 4 | 6; readonly value: bigint };
/** A block of addresses, both ends inclusive. */
export type AddressBlock = { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint };

const addressBits = { 4: 32n, 6: 128n } as const;

/** Parses an address, such as `10.0.0.0`, `64:ff9b::`, `::ffff:10.0.0.1` or `fe80::1%lo`. */
export function parseAddress(text: string): IpAddress {
  const address = text.replace(/%.*/, '');
  const dotted = /[\d.]+$/.exec(address)?.[0] ?? '';
  if (!address.includes(':')) return { family: 4, value: joinParts(address.split('.').map(BigInt), 8n) };
  const tail = dotted.includes('.') ? joinParts(dotted.split('.').map(BigInt), 8n) : undefined;
  const plain =
    tail === undefined
      ? address
      : `${address.slice(0, -dotted.length)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [before = '', after] = plain.split('::');
  const words = (part: string) => (part === '' ? [] : part.split(':').map((word) => BigInt(`0x${word}`)));
  const [front, back] = [words(before), words(after ?? '')];
  const gap = after === undefined ? [] : new Array<bigint>(8 - front.length - back.length).fill(0n);
  return { family: 6, value: joinParts([...front, ...gap, ...back], 16n) };
}
const joinParts = (parts: readonly bigint[], size: bigint) => parts.reduce((sum, part) => (sum << size) | part, 0n);

/** Formats an address, IPv6 with all eight groups. */
export function formatAddress({ family, value }: IpAddress): string {
  const parts = family === 4 ? 4 : 8;
  const size = addressBits[family] / BigInt(parts);
  const part = (at: number) => (value >> (size * BigInt(parts - 1 - at))) & ((1n << size) - 1n);
  const all = Array.from({ length: parts }, (_, at) => part(at));
  return family === 4 ? all.join('.') : all.map((word) => word.toString(16)).join(':');
}

/** Parses a block in CIDR notation. */
export function parseBlock(cidr: string): AddressBlock {
  const [address = '', length = ''] = cidr.split('/');
  const { family, value } = parseAddress(address);
  return { family, first: value, last: value | ((1n << (addressBits[family] - BigInt(length))) - 1n) };
}

const registryRows = [
  ...[...specialIpv4Blocks, ...specialIpv6Blocks].map((row) => ({
    ...parseBlock(row.block),
    reachable: row.reachable,
  })),
  ...forbiddenDespiteRegistry.map((cidr) => ({ ...parseBlock(cidr), reachable: undefined })),
];

/** Every block with an entry in a registry. */
const specialBlocks: readonly AddressBlock[] = registryRows;

const isInBlock = (address: IpAddress, { family, first, last }: AddressBlock) =>
  family === address.family && first <= address.value && address.value <= last;

/**
 * Whether the registries allow an address itself. The narrowest block that contains the address decides; of
 * equally narrow blocks, the stricter one.
 */
function isRegisteredReachable(address: IpAddress): boolean {
  const matchingRows = registryRows.filter((row) => isInBlock(address, row));
  const narrowest = matchingRows.map(({ first, last }) => last - first).sort((a, b) => (a < b ? -1 : 1))[0];
  return matchingRows.every((row) => row.last - row.first !== narrowest || row.reachable === true);
}

const lowest32Bits = (value: bigint) => [value & 0xffffffffn];

/**
 * Blocks whose addresses only embed IPv4 addresses, and how to extract these. Packets go to the embedded address,
 * so that address decides.
 */
const embeddingBlocks: readonly (readonly [AddressBlock, (value: bigint) => readonly bigint[]])[] = [
  [parseBlock('::/96'), lowest32Bits], // RFC 4213, 2893: packets are tunnelled to the IPv4 address.
  [parseBlock('::ffff:0:0/96'), lowest32Bits], // RFC 4291: this machine connects to the IPv4 address.
  [parseBlock('::ffff:0:0:0/96'), lowest32Bits], // RFC 2765: packets are translated to IPv4.
  [parseBlock('64:ff9b::/96'), lowest32Bits], // RFC 6052: packets are translated to IPv4.
  [parseBlock('2002::/16'), (value) => lowest32Bits(value >> 80n)], // RFC 3056: packets are tunnelled to the IPv4 address.
  // RFC 4380: addresses of the server, and of the client with inverted bits.
  [parseBlock('2001::/32'), (value) => [...lowest32Bits(value >> 64n), ...lowest32Bits(~value & 0xffffffffn)]],
];

/**
 * Returns the IPv4 address that follows `0:5efe` in an interface identifier, with the u and g bits ignored (RFC
 * 5214, 6.1).
 */
function isatapIpv4(value: bigint): readonly bigint[] {
  const identifier = (value >> 32n) & 0xffffffffn;
  return (identifier & 0xfcffffffn) === 0x5efen ? lowest32Bits(value) : [];
}

/**
 * Whether a target at this address is allowed. This function is written only from the registries and RFCs, and
 * shares no code and no library with the guard that it is compared with.
 */
export function isReachable(address: IpAddress): boolean {
  if (address.family === 4) return isRegisteredReachable(address);
  const carrier = embeddingBlocks.find(([carrying]) => isInBlock(address, carrying));
  const carried = [...(carrier?.[1](address.value) ?? []), ...isatapIpv4(address.value)];
  const itself = carrier !== undefined || isRegisteredReachable(address);
  return itself && carried.every((value) => isRegisteredReachable({ family: 4, value }));
}

/** Returns the address that the kernel connects to, which for a mapped address is the IPv4 address. */
export const connectedAddress = ({ value }: IpAddress): bigint =>
  value >> 32n === 0xffffn ? value & 0xffffffffn : value;

/** Addresses that accept no connection: multicast and limited broadcast. */
export function isUnconnectable(address: IpAddress): boolean {
  const value = connectedAddress(address);
  if (value >> 32n !== 0n) return value >> 120n === 0xffn;
  return value >> 28n === 0xen || value === 0xffffffffn;
}

/** Whether a target at this address is allowed. */
export type AddressCheck = (address: string) => Promise<boolean>;

/** Checks of the guard: with a literal address, and with a name that resolves to the address. */
export const guardChecks = {
  'written out': (address: string) => isAllowed(`http://${address.includes(':') ? `[${address}]` : address}/`, address),
  'behind a name': (address: string) => isAllowed('http://target.example/', address),
};

async function isAllowed(target: string, address: string): Promise<boolean> {
  const resolve = async () => ({ addresses: [address] });
  const verdict = await createSsrfGuard({ resolve, allowRules: [], isLoopbackAllowed: false }).checkTarget(
    new URL(target),
  );
  return 'allowed' in verdict && verdict.allowed;
}

/**
 * Compares the guard with the oracle: at the edges of every block, in every embedding of these edges, and at
 * random addresses.
 */
export async function compareWithOracle(
  checks: Readonly<Record<string, AddressCheck>>,
  random: SeededRandom,
  count: number,
): Promise<RunResult> {
  const broken: string[] = [];
  const addresses = [...edgeAddresses(), ...randomAddresses(random, count)];
  for (const address of addresses) {
    const [text, expected] = [formatAddress(address), isReachable(address)];
    for (const [how, check] of Object.entries(checks)) {
      if ((await check(text)) !== expected) {
        broken.push(`${text} ${how}: the oracle ${expected ? 'allows' : 'forbids'} it, the guard does not`);
      }
    }
  }
  return { counts: { 'addresses compared with the oracle': addresses.length }, broken };
}

/** Checks the embeddings as a property, so that a counterexample is shrunk. */
export async function checkEmbeddings(check: AddressCheck, seed: number, count: number): Promise<RunResult> {
  const [ipv4Edges, any] = [edgeAddresses().filter(({ family }) => family === 4), { min: 0n, max: 2n ** 32n - 1n }];
  const ipv4s = fc.oneof(fc.bigInt(any), fc.constantFrom(...ipv4Edges.map(({ value }) => value)));
  const chaffs = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
  const law = fc.asyncProperty(ipv4s, chaffs, fc.constantFrom(...embeddings), async (ipv4, chaff, embedding) => {
    const written = formatAddress({ family: 6, value: embedding.embed(ipv4, chaff) });
    const inside = formatAddress({ family: 4, value: ipv4 });
    const expected = embedding.allowed === 'as its IPv4' && (await check(inside));
    if ((await check(written)) !== expected)
      throw new Error(`${embedding.name}: ${written} is not judged as ${inside}`);
  });
  const { failed, errorInstance, numRuns } = await fc.check(law, { seed, numRuns: count });
  return {
    counts: { 'embeddings checked': numRuns },
    broken: failed ? [`embedding law: ${errorInstance instanceof Error ? errorInstance.message : errorInstance}`] : [],
  };
}

const ADDRESS_COUNT = { 4: 1n << 32n, 6: 1n << 128n } as const;

/**
 * Returns the first and last address of every block and their neighbors. IPv4 addresses are also returned in every
 * embedding.
 */
function edgeAddresses(): IpAddress[] {
  const plain = specialBlocks.flatMap(({ family, first, last }) =>
    [first - 1n, first, first + 1n, last - 1n, last, last + 1n]
      .filter((value) => value >= 0n && value < ADDRESS_COUNT[family])
      .map((value): IpAddress => ({ family, value })),
  );
  const inside = plain.filter(({ family }) => family === 4);
  const written = embeddings.flatMap(({ embed }) =>
    inside.map(({ value }): IpAddress => ({ family: 6, value: embed(value, 0n) })),
  );
  return [...plain, ...written];
}

/** Generates random addresses: IPv4, global unicast, any IPv6, in a special block, or with an embedded IPv4 address. */
function randomAddresses(random: SeededRandom, count: number): IpAddress[] {
  const bits = (count: number): bigint =>
    count <= 32 ? BigInt(random.integerBelow(2 ** count)) : (bits(count - 32) << 32n) | bits(32);
  const generators: readonly (() => IpAddress)[] = [
    () => ({ family: 4, value: bits(32) }),
    () => ({ family: 6, value: (1n << 125n) | bits(125) }),
    () => ({ family: 6, value: bits(128) }),
    () => {
      const { family, first, last } = random.pick(specialBlocks);
      return { family, value: first + (bits(128) % (last - first + 1n)) };
    },
    () => ({ family: 6, value: random.pick(embeddings).embed(bits(32), bits(128)) }),
  ];
  return Array.from({ length: count }, () => random.pick(generators)());
}

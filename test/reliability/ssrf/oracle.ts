import { special4, special6, stricter } from './registry.ts';

/** An address as its bits. */
export type Bits = { readonly family: 4 | 6; readonly value: bigint };
/** A block of addresses: the first and the last of them. */
export type Block = { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint };

const width = { 4: 32n, 6: 128n } as const;

/** Reads an address, as registries and kernels write it: `10.0.0.0`, `64:ff9b::`, `::ffff:10.0.0.1`, `fe80::1%lo`. */
export function bits(text: string): Bits {
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

/** Writes it again, IPv6 in all of its eight words. */
export function spelled({ family, value }: Bits): string {
  const parts = family === 4 ? 4 : 8;
  const size = width[family] / BigInt(parts);
  const part = (at: number) => (value >> (size * BigInt(parts - 1 - at))) & ((1n << size) - 1n);
  const all = Array.from({ length: parts }, (_, at) => part(at));
  return family === 4 ? all.join('.') : all.map((word) => word.toString(16)).join(':');
}

/** A block in CIDR notation. */
export function block(cidr: string): Block {
  const [address = '', length = ''] = cidr.split('/');
  const { family, value } = bits(address);
  return { family, first: value, last: value | ((1n << (width[family] - BigInt(length))) - 1n) };
}

const rows = [
  ...[...special4, ...special6].map((row) => ({ ...block(row.block), reachable: row.reachable })),
  ...stricter.map((cidr) => ({ ...block(cidr), reachable: undefined })),
];

/** Every block that something is said of. */
export const specialBlocks: readonly Block[] = rows;

const isIn = (address: Bits, { family, first, last }: Block) =>
  family === address.family && first <= address.value && address.value <= last;

/** What is said of an address itself. The narrowest block speaks, being carved out of the wider ones; of two alike, the stricter. */
function registered(address: Bits): boolean {
  const speaking = rows.filter((row) => isIn(address, row));
  const narrowest = speaking.map(({ first, last }) => last - first).sort((a, b) => (a < b ? -1 : 1))[0];
  return speaking.every((row) => row.last - row.first !== narrowest || row.reachable === true);
}

const low = (value: bigint) => [value & 0xffffffffn];

/** Blocks that are nothing but a way to write IPv4: a packet ends at the IPv4 that is read out of it, and that is judged. */
const carriers: readonly (readonly [Block, (value: bigint) => readonly bigint[]])[] = [
  [block('::/96'), low], // RFC 4213, 2893: tunnelled to it
  [block('::ffff:0:0/96'), low], // RFC 4291: this machine dials it
  [block('::ffff:0:0:0/96'), low], // RFC 2765: translated into it
  [block('64:ff9b::/96'), low], // RFC 6052: translated into it
  [block('2002::/16'), (value) => low(value >> 80n)], // RFC 3056: tunnelled to it
  // RFC 4380: asked for at the server, sent to the client, whose address is written with every bit turned.
  [block('2001::/32'), (value) => [...low(value >> 64n), ...low(~value & 0xffffffffn)]],
];

/** RFC 5214, 6.1: behind `0:5efe` in the lower half, where u and g may be set, stands an IPv4 of the site. */
function isatap(value: bigint): readonly bigint[] {
  const identifier = (value >> 32n) & 0xffffffffn;
  return (identifier & 0xfcffffffn) === 0x5efen ? low(value) : [];
}

/**
 * May a target be there? Written from the registries and the RFCs alone, as arithmetic on bits, to be compared with the guard:
 * no line and no library is shared with it.
 */
export function reachable(address: Bits): boolean {
  if (address.family === 4) return registered(address);
  const carrier = carriers.find(([carrying]) => isIn(address, carrying));
  const carried = [...(carrier?.[1](address.value) ?? []), ...isatap(address.value)];
  const itself = carrier !== undefined || registered(address);
  return itself && carried.every((value) => registered({ family: 4, value }));
}

/** What this machine dials: of a mapped address, the IPv4 inside. */
export const reached = ({ value }: Bits): bigint => (value >> 32n === 0xffffn ? value & 0xffffffffn : value);

/** No connection can be made to it, whoever listens: multicast, and the broadcast to all. */
export function isDeaf(address: Bits): boolean {
  const value = reached(address);
  if (value >> 32n !== 0n) return value >> 120n === 0xffn;
  return value >> 28n === 0xen || value === 0xffffffffn;
}

import { special4, special6 } from './registry.ts';

/** An address as its bits. */
export type Bits = { readonly family: 4 | 6; readonly value: bigint };
/** A block of addresses: the first and the last of them. */
export type Block = { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint };

const width = { 4: 32n, 6: 128n } as const;

/** Reads an address in the plain spelling of the registries: `10.0.0.0`, `64:ff9b::`. */
export function bits(text: string): Bits {
  if (!text.includes(':')) return { family: 4, value: joined(text.split('.').map(BigInt), 8n) };
  const [before = '', after] = text.split('::');
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

const rows = [...special4, ...special6]
  .map(({ block: cidr, reachable, source }) => ({ ...block(cidr), reachable, source }))
  // The narrower block is the one that speaks for an address: it is carved out of the wider one.
  .sort((a, b) => (a.last - a.first < b.last - b.first ? -1 : 1));

/** Every block that is special, the narrowest first. */
export const specialBlocks: readonly Block[] = rows;

/** What the registries say of an address itself, whatever it may embed. */
function registered(address: Bits): boolean {
  const row = rows.find(
    ({ family, first, last }) => family === address.family && first <= address.value && address.value <= last,
  );
  return row === undefined || row.reachable === true;
}

/** IPv4 that is reached through an IPv6 address: by this machine itself, by a translator, or at the end of a tunnel. */
function embedded(value: bigint): bigint | undefined {
  const inner = value & 0xffffffffn;
  if (value >> 32n === 0xffffn) return inner;
  if (value >> 32n === 0x64ff9bn << 64n) return inner;
  // RFC 5214: the interface identifier 0000:5efe or, with the universal bit, 0200:5efe, then the address.
  const identifier = (value >> 32n) & 0xffffffffn;
  return identifier === 0x5efen || identifier === 0x02005efen ? inner : undefined;
}

/**
 * May a target be there? Written from the registries and RFCs alone, in arithmetic on bits: what is compared with the guard, and
 * shares no line and no library with it.
 */
export function reachable(address: Bits): boolean {
  if (address.family === 4) return registered(address);
  const inner = embedded(address.value);
  if (inner !== undefined && !reachable({ family: 4, value: inner })) return false;
  // A mapped address is no address of a packet: the machine sends to the IPv4 inside.
  return address.value >> 32n === 0xffffn || registered(address);
}

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
type AddressRange = readonly [base: IpAddress, bits: number];

/** Forbidden IPv4 ranges: the IANA special-purpose registry, and addresses that no receiver can have. */
const FORBIDDEN_IPV4_RANGES = parseRanges(
  '0.0.0.0/8', // this network; 0.0.0.0 reaches this machine
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's machine agent: a public address, served on the host
  '169.254.0.0/16', // link-local and metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112: discards DNS queries
  '192.52.193.0/24', // AMT relays
  '192.88.99.0/24', // 6to4 relays, retired
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
);

/** IPv6 is an allow list: the global unicast range of IANA, minus its special-purpose ranges. */
const PUBLIC_IPV6_RANGES = parseRanges('2000::/3');
const FORBIDDEN_IPV6_RANGES = parseRanges(
  '2001::/23', // protocol assignments: ORCHID, benchmarks, AMT, AS112
  '2001:db8::/32', // documentation
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // 6bone, returned to IANA
  '3fff::/20', // documentation
);

const UNSPECIFIED_OR_LOOPBACK_IPV6 = parseRanges('::/127');
const IPV4_MAPPED_RANGES = parseRanges('::ffff:0:0/96');
const LOOPBACK_RANGES = parseRanges('127.0.0.0/8', '::1/128');

/** IPv6 ranges that embed IPv4 addresses. `extractIpv4Addresses` returns the addresses that the traffic would reach. */
const IPV4_EMBEDDINGS: readonly {
  ranges: readonly AddressRange[];
  extractIpv4Addresses: (bytes: number[]) => ipaddr.IPv4[];
}[] = [
  { ranges: IPV4_MAPPED_RANGES, extractIpv4Addresses: (bytes) => [readIpv4(bytes, 12)] },
  { ranges: parseRanges('::/96'), extractIpv4Addresses: (bytes) => [readIpv4(bytes, 12)] }, // IPv4-compatible
  { ranges: parseRanges('::ffff:0:0:0/96'), extractIpv4Addresses: (bytes) => [readIpv4(bytes, 12)] }, // IPv4-translated
  { ranges: parseRanges('64:ff9b::/96'), extractIpv4Addresses: (bytes) => [readIpv4(bytes, 12)] }, // NAT64
  { ranges: parseRanges('2002::/16'), extractIpv4Addresses: (bytes) => [readIpv4(bytes, 2)] }, // 6to4
  {
    ranges: parseRanges('2001::/32'), // Teredo: the server, and the client with all bits inverted
    extractIpv4Addresses: (bytes) => [
      readIpv4(bytes, 4),
      readIpv4(
        bytes.map((byte) => byte ^ 0xff),
        12,
      ),
    ],
  },
];

/** Returns the addresses that traffic to this address reaches: itself, or IPv4 addresses embedded in it. */
export function findEffectiveAddresses(address: IpAddress): IpAddress[] {
  if (address.kind() === 'ipv4') return [address];
  const bytes = address.toByteArray();
  const effectiveAddresses: IpAddress[] = findEmbedding(address)?.extractIpv4Addresses(bytes) ?? [address];
  // ISATAP embeds an IPv4 address in the lower half of any address, so the address itself, or an IPv4 address embedded
  // in its upper half, is checked as well.
  return isIsatap(bytes) ? [...effectiveAddresses, readIpv4(bytes, 12)] : effectiveAddresses;
}

export function findEmbedding(address: IpAddress): (typeof IPV4_EMBEDDINGS)[number] | undefined {
  if (isInRanges(address, UNSPECIFIED_OR_LOOPBACK_IPV6)) return undefined;
  return IPV4_EMBEDDINGS.find(({ ranges }) => isInRanges(address, ranges));
}

/** Whether this is an ISATAP address: `…:0:5efe:a.b.c.d`, with the universal and group bits set or not. */
function isIsatap(bytes: number[]): boolean {
  const [first = 0, second, third, fourth] = bytes.slice(8, 12);
  return (first & 0xfc) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}

export function isPublic(address: IpAddress): boolean {
  if (address.kind() === 'ipv4') return !isInRanges(address, FORBIDDEN_IPV4_RANGES);
  return isInRanges(address, PUBLIC_IPV6_RANGES) && !isInRanges(address, FORBIDDEN_IPV6_RANGES);
}

/**
 * Whether this is a loopback address of this machine. A NAT64 address of 127.0.0.1 is not: it reaches another machine.
 */
export function isLoopback(address: IpAddress): boolean {
  const effectiveAddress = isInRanges(address, IPV4_MAPPED_RANGES) ? readIpv4(address.toByteArray(), 12) : address;
  return isInRanges(effectiveAddress, LOOPBACK_RANGES);
}

/**
 * Parses an address strictly: no zone, no octal numbers, no short form. `net.connect` would resolve such texts as
 * names.
 */
export function parseAddress(text: string): IpAddress | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text);
}

export function isInRanges(address: IpAddress, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

export function isNetworkAddress(base: IpAddress, bits: number): boolean {
  const addressClass = base.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return addressClass.networkAddressFromCIDR(`${base}/${bits}`).toString() === base.toString();
}

function readIpv4(bytes: number[], offset: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(bytes.slice(offset, offset + 4));
}

export function parseRanges(...cidrs: string[]): readonly AddressRange[] {
  return cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
}

/** A way to embed an IPv4 address in an IPv6 address. */
export type Embedding = {
  readonly name: string;
  /** Expected result: that of the embedded IPv4 address, or always forbidden where the guard is stricter. */
  readonly allowed: 'as its IPv4' | 'never';
  /** @param chaff random 128 bits for the parts that the embedding leaves open */
  readonly embed: (ipv4: bigint, chaff: bigint) => bigint;
};

const ALL = 0xffffffffn;
/** A public IPv4 address, for embeddings that contain two. */
const PUBLIC = 0x08080808n;
const bitsOf = (chaff: bigint, count: bigint) => chaff & ((1n << count) - 1n);
/** Clears bits so that random parts never form an ISATAP identifier, which would embed another IPv4 address. */
const plain = (lower: bigint) => lower & ~(0xfffen << 32n);

export const embeddings: readonly Embedding[] = [
  { name: 'IPv4-mapped', allowed: 'as its IPv4', embed: (ipv4) => (0xffffn << 32n) | ipv4 },
  { name: 'IPv4-compatible', allowed: 'as its IPv4', embed: (ipv4) => ipv4 },
  { name: 'IPv4-translated', allowed: 'as its IPv4', embed: (ipv4) => (0xffffn << 48n) | ipv4 },
  { name: 'NAT64', allowed: 'as its IPv4', embed: (ipv4) => (0x64ff9bn << 96n) | ipv4 },
  {
    name: '6to4',
    allowed: 'as its IPv4',
    embed: (ipv4, chaff) => (0x2002n << 112n) | (ipv4 << 80n) | plain(bitsOf(chaff, 80n)),
  },
  {
    name: 'Teredo server',
    allowed: 'as its IPv4',
    embed: (ipv4, chaff) => (0x20010000n << 96n) | (ipv4 << 64n) | plain(bitsOf(chaff, 64n) & ~ALL) | (PUBLIC ^ ALL),
  },
  {
    name: 'Teredo client',
    allowed: 'as its IPv4',
    embed: (ipv4, chaff) => (0x20010000n << 96n) | (PUBLIC << 64n) | plain(bitsOf(chaff, 64n) & ~ALL) | (ipv4 ^ ALL),
  },
  ...[0x00005efen, 0x02005efen].map((identifier) => ({
    name: `ISATAP ${identifier.toString(16)}, under a public prefix`,
    allowed: 'as its IPv4' as const,
    embed: (ipv4: bigint, chaff: bigint) =>
      (0x26064700n << 96n) | (bitsOf(chaff, 32n) << 64n) | (identifier << 32n) | ipv4,
  })),
  {
    name: 'ISATAP, link-local',
    allowed: 'never',
    embed: (ipv4) => (0xfe80n << 112n) | (0x5efen << 32n) | ipv4,
  },
  {
    name: 'NAT64 of the site',
    allowed: 'never',
    embed: (ipv4, chaff) => (0x64ff9b0001n << 80n) | (bitsOf(chaff, 48n) << 32n) | ipv4,
  },
  {
    // RFC 6052, 2.2: 16 bits of the address, 8 zero bits, 16 bits of the address.
    name: 'NAT64 of the site, 48 bits of prefix',
    allowed: 'never',
    embed: (ipv4, chaff) =>
      (0x64ff9b0001n << 80n) | ((ipv4 >> 16n) << 64n) | ((ipv4 & 0xffffn) << 40n) | bitsOf(chaff, 40n),
  },
];

/** A block with a reserved purpose. */
export type Special = {
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
export const special4: readonly Special[] = [
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
export const special6: readonly Special[] = [
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
 * Globally reachable blocks that the guard forbids nevertheless: anycast is answered by the nearest host,
 * which may be the operator's; identifiers are no locations; Azure serves its host agent at a public address.
 */
export const stricter: readonly string[] = [
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

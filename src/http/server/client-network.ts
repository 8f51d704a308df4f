import { BlockList, isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The network that identifies a client: its IPv4 address, or the /64 prefix of its IPv6 address, because a provider
 * assigns a whole /64 to one customer.
 */
export function clientNetworkOf(forwarded: string): string {
  const source = stripPort(forwarded);
  if (!isIPv6(source)) return source;
  const address = ipaddr.IPv6.parse(source);
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  return address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** Removes the client's port, which some proxies append to the address and which differs for each connection. */
function stripPort(source: string): string {
  const [, inBrackets, plain] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(source) ?? [];
  return inBrackets ?? plain ?? source;
}

/**
 * Returns a function that checks whether an address belongs to a trusted proxy. Proxies are configured by address or
 * CIDR.
 */
export function trustedProxyMatcher(proxies: readonly string[]): (address: string) => boolean {
  if (proxies.length === 0) return () => false;
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

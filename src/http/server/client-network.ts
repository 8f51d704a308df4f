import { BlockList, isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Returns the network that identifies a client: its IPv4 address, or the /64 prefix of its IPv6 address, because a
 * provider assigns a whole /64 to one customer.
 */
export function clientNetworkOf(forwardedAddress: string): string {
  const clientAddress = stripPort(forwardedAddress);
  if (!isIPv6(clientAddress)) return clientAddress;
  const ipv6Address = ipaddr.IPv6.parse(clientAddress);
  if (ipv6Address.isIPv4MappedAddress()) return ipv6Address.toIPv4Address().toString();
  return ipv6Address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** Removes the client's port, which some proxies append to the address and which differs for each connection. */
function stripPort(addressWithPort: string): string {
  const [, bracketedAddress, plainAddress] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(addressWithPort) ?? [];
  return bracketedAddress ?? plainAddress ?? addressWithPort;
}

/**
 * Returns a function that checks whether an address belongs to a trusted proxy. Proxies are configured by address or
 * CIDR.
 */
export function createProxyMatcher(proxies: readonly string[]): (address: string) => boolean {
  if (proxies.length === 0) return () => false;
  const trustedAddresses = new BlockList();
  for (const proxy of proxies) {
    const [address = '', prefixLength] = proxy.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    trustedAddresses.addSubnet(
      address,
      prefixLength === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefixLength),
      family,
    );
  }
  return (address) => isIP(address) !== 0 && trustedAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

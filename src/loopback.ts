import { isIP } from 'node:net';

/** Whether an address or host name belongs to the loopback interface. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '');
  if (address === 'localhost' || address.endsWith('.localhost') || address === '::1') return true;
  return isIP(address) === 4 && address.startsWith('127.');
}

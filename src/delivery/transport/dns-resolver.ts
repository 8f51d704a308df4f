import { Resolver } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type Clock, startDeadline, systemClock } from '../../clock.ts';

/**
 * The result of resolving a name. `no_such_name`: the name has no address, which counts as a failure of the target
 * (C19). `resolver_silent`: no name server answered, which is a local error.
 */
export type ResolveResult = { addresses: readonly string[] } | { failure: 'no_such_name' | 'resolver_silent' };

/** Resolves a name to all its addresses, IPv4 first, within `timeoutMs`. Never throws. */
export type ResolveName = (hostname: string, timeoutMs: number) => Promise<ResolveResult>;

type AddressesByName = ReadonlyMap<string, readonly string[]>;

/** The loopback addresses. IPv4 is first: services under development listen on it more often. */
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'] as const;

/**
 * Error codes of an authoritative "no such address". Any other code is an error of the resolver, including SERVFAIL,
 * which a local stub resolver returns when it has lost its upstream.
 */
const NO_SUCH_NAME_CODES = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

const SYSTEM_HOSTS_FILE =
  process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';

/**
 * Resolves with c-ares instead of getaddrinfo, which has four threads: a few hanging names would delay every target
 * (C22). c-ares does not read the hosts file and does not know `localhost`, so this function resolves both itself.
 * `nameServers` (in the form of `dns.setServers`) replaces the name servers of the machine.
 */
export function createResolver({
  clock = systemClock,
  hostsFile = SYSTEM_HOSTS_FILE,
  nameServers,
}: {
  clock?: Clock;
  hostsFile?: string;
  nameServers?: readonly string[];
} = {}): ResolveName {
  const readHosts = createHostsReader(hostsFile);

  return async (hostname, timeoutMs) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    if (name === '') return { failure: 'no_such_name' };
    // RFC 6761, 6.3: localhost is never sent to a name server.
    if (name === 'localhost' || name.endsWith('.localhost')) return { addresses: LOOPBACK_ADDRESSES };

    const hostsFileAddresses = (await readHosts()).get(name);
    if (hostsFileAddresses !== undefined) return { addresses: hostsFileAddresses };

    return queryServers(name, timeoutMs, clock, nameServers);
  };
}

/** Queries A and AAAA concurrently. Each name has its own resolver, so that canceling one does not cancel others. */
async function queryServers(
  name: string,
  timeoutMs: number,
  clock: Clock,
  nameServers: readonly string[] | undefined,
): Promise<ResolveResult> {
  // Query twice, the second time with twice the timeout: one lost packet must not count as a silent resolver.
  const resolver = new Resolver({ timeout: Math.max(1, Math.ceil(timeoutMs / 3)), tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);

  const cancelTimer = startDeadline(clock, timeoutMs, () => resolver.cancel());
  const results = await Promise.all([settleQuery(resolver.resolve4(name)), settleQuery(resolver.resolve6(name))]);
  cancelTimer();

  // Addresses of one family are enough: only addresses returned here are dialled.
  const addresses = results.flatMap((result) => result.addresses);
  if (addresses.length > 0) return { addresses };
  return { failure: results.some((result) => result.isSilent) ? 'resolver_silent' : 'no_such_name' };
}

async function settleQuery(query: Promise<string[]>): Promise<{ addresses: string[]; isSilent: boolean }> {
  try {
    return { addresses: await query, isSilent: false };
  } catch (error) {
    return { addresses: [], isSilent: !NO_SUCH_NAME_CODES.has(errorCodeOf(error)) };
  }
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/**
 * Creates a reader of the hosts file, which reads the file again only when it has changed. A missing file counts as
 * empty.
 */
function createHostsReader(path: string): () => Promise<AddressesByName> {
  let cachedHosts: AddressesByName = new Map();
  let cachedVersion = '';

  return async () => {
    const fileStats = await stat(path).catch(() => undefined);
    if (fileStats === undefined) return new Map();

    const currentVersion = `${fileStats.mtimeMs} ${fileStats.size} ${fileStats.ino}`;
    if (currentVersion === cachedVersion) return cachedHosts;
    const text = await readFile(path, 'utf8').catch(() => undefined);
    // If the file cannot be read, for example without file handles, use its last content. The next lookup reads again.
    if (text === undefined) return cachedHosts;
    cachedHosts = parseHosts(text);
    cachedVersion = currentVersion;
    return cachedHosts;
  };
}

function parseHosts(text: string): AddressesByName {
  const addressesByName = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const normalizedName = name.toLowerCase().replace(/\.$/, '');
      addressesByName.set(normalizedName, [...(addressesByName.get(normalizedName) ?? []), address]);
    }
  }
  return addressesByName;
}

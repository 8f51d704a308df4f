import { Resolver } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type Clock, systemClock } from '../../clock.ts';
import { startDeadline } from './deadline.ts';

/**
 * What a name stands for. `no_such_name`: the name has no address, which is the target's fault and counts (C19).
 * `resolver_silent`: nobody could be asked, which is ours and does not.
 */
export type Resolved = { addresses: readonly string[] } | { failure: 'no_such_name' | 'resolver_silent' };

/** Every address of a name, IPv4 first, within `timeoutMs`. Never throws. */
export type Resolve = (hostname: string, timeoutMs: number) => Promise<Resolved>;

type Hosts = ReadonlyMap<string, readonly string[]>;

/** IPv4 first: a service under development listens there more often. */
const LOOPBACK = ['127.0.0.1', '::1'] as const;

/**
 * The name servers' word that there is no such address. Anything else, SERVFAIL among it, is a resolver that did not
 * do its work: a local stub says SERVFAIL when it has lost its upstream.
 */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

const SYSTEM_HOSTS_FILE =
  process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';

/**
 * Resolves through c-ares: getaddrinfo has four threads, so that one hanging name would delay every target (C22).
 * c-ares reads neither the hosts file nor knows `localhost`, so both are looked at here. `servers` (as
 * `dns.setServers` takes them) stands in for the machine's own.
 */
export function createResolver({
  clock = systemClock,
  hostsFile = SYSTEM_HOSTS_FILE,
  servers,
}: {
  clock?: Clock;
  hostsFile?: string;
  servers?: readonly string[];
} = {}): Resolve {
  const readHosts = createHostsReader(hostsFile);

  return async (hostname, timeoutMs) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    if (name === '') return { failure: 'no_such_name' };
    // RFC 6761, 6.3: never asked of a name server, whatever that would say.
    if (name === 'localhost' || name.endsWith('.localhost')) return { addresses: LOOPBACK };

    const listed = (await readHosts()).get(name);
    if (listed !== undefined) return { addresses: listed };

    return askServers(name, timeoutMs, clock, servers);
  };
}

/** Asks for both families at once. A resolver of its own for each name, so that giving up on one cuts no other. */
async function askServers(
  name: string,
  timeoutMs: number,
  clock: Clock,
  servers: readonly string[] | undefined,
): Promise<Resolved> {
  // Two tries, the second with twice the time: a lost packet is not a silent resolver.
  const resolver = new Resolver({ timeout: Math.max(1, Math.ceil(timeoutMs / 3)), tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);

  const cancelTimer = startDeadline(clock, timeoutMs, () => resolver.cancel());
  const answers = await Promise.all([answerOf(resolver.resolve4(name)), answerOf(resolver.resolve6(name))]);
  cancelTimer();

  // One family that answered is enough: only addresses that were seen here can be dialled.
  const addresses = answers.flatMap((answer) => answer.addresses);
  if (addresses.length > 0) return { addresses };
  return { failure: answers.some((answer) => answer.silent) ? 'resolver_silent' : 'no_such_name' };
}

async function answerOf(query: Promise<string[]>): Promise<{ addresses: string[]; silent: boolean }> {
  try {
    return { addresses: await query, silent: false };
  } catch (error) {
    return { addresses: [], silent: !NO_SUCH_NAME.has(codeOf(error)) };
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Reads the hosts file again only when it has changed. One that is not there is empty. */
function createHostsReader(path: string): () => Promise<Hosts> {
  let hosts: Hosts = new Map();
  let version = '';

  return async () => {
    const seen = await stat(path).catch(() => undefined);
    if (seen === undefined) return new Map();

    const current = `${seen.mtimeMs} ${seen.size} ${seen.ino}`;
    if (current === version) return hosts;
    const text = await readFile(path, 'utf8').catch(() => undefined);
    // Out of file handles, say: what was read last still holds, and the next lookup tries again.
    if (text === undefined) return hosts;
    hosts = parseHosts(text);
    version = current;
    return hosts;
  };
}

function parseHosts(text: string): Hosts {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      hosts.set(key, [...(hosts.get(key) ?? []), address]);
    }
  }
  return hosts;
}

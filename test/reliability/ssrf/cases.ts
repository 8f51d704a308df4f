import { isIP } from 'node:net';
import type { ResolveName } from '../../../src/delivery/transport/dns-resolver.ts';
import { createSsrfGuard, parseTarget, type SsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import type { Store } from '../../../src/store/store.ts';
import { addressesByName, forbiddenTargets, publicTargets, smuggledTargets } from '../../corpus/targets.ts';
import { eventually } from '../../kit/eventually.ts';
import { insertHook } from '../../kit/service/full-accounts.ts';
import type { RunResult } from '../reliability-test.ts';

/** Maximum time until every pending delivery is finalized. */
const DELIVERY_TIMEOUT_MS = 60_000;

/** Inserts hooks for new events directly, without the target check of a subscription; returns their ids. */
export async function insertHooks({ write }: Store, targets: readonly string[]): Promise<number[]> {
  return write(async ({ queries }) => {
    const owner = await queries.selectFrom('users').select(['account_id', 'user_id']).executeTakeFirstOrThrow();
    const hookIds: number[] = [];
    for (const target of targets) {
      const hook = { ...owner, events: 'new_event', target, date_created: Date.now() };
      hookIds.push((await insertHook(queries, hook)).hook_id);
    }
    return hookIds;
  });
}

/**
 * Waits until no live hook has pending deliveries. Returns how many are left. A delivery to an unreachable address
 * stays pending, because a missing route is a local error.
 */
export async function countStillPending({ read }: Store): Promise<number> {
  const pending = () =>
    read
      .selectFrom('pending_deliveries')
      .innerJoin('hooks', 'hooks.hook_id', 'pending_deliveries.hook_id')
      .where('hooks.date_ended', 'is', null)
      .select('pending_deliveries.delivery_id')
      .execute();
  const left = await eventually(pending, (rows) => rows.length === 0, DELIVERY_TIMEOUT_MS).catch(pending);
  return left.length;
}

/** Returns the outcomes of all attempts, by hook. */
export async function readOutcomes({ read }: Store): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>();
  for (const { hook_id, outcome } of await read.selectFrom('attempts').select(['hook_id', 'outcome']).execute()) {
    found.set(hook_id, [...(found.get(hook_id) ?? []), outcome]);
  }
  return found;
}

/** A way to embed an IPv4 address in an IPv6 address. */
export type Embedding = {
  readonly name: string;
  /** Expected result: that of the embedded IPv4 address, or always forbidden where the guard is stricter. */
  readonly allowed: 'as its IPv4' | 'never';
  /**
   * Embeds an IPv4 address.
   *
   * @param chaff 128 random bits for the parts that the embedding leaves open
   */
  readonly embed: (ipv4: bigint, chaff: bigint) => bigint;
};

/** All bits of an IPv4 address. */
const ALL_BITS = 0xffffffffn;
/** A public IPv4 address, for embeddings that contain two addresses. */
const PUBLIC_IPV4 = 0x08080808n;
const lowBits = (chaff: bigint, count: bigint) => chaff & ((1n << count) - 1n);
/** Clears bits so that random parts never form an ISATAP identifier, which would embed another IPv4 address. */
const withoutIsatap = (lower: bigint) => lower & ~(0xfffen << 32n);

export const embeddings: readonly Embedding[] = [
  { name: 'IPv4-mapped', allowed: 'as its IPv4', embed: (ipv4) => (0xffffn << 32n) | ipv4 },
  { name: 'IPv4-compatible', allowed: 'as its IPv4', embed: (ipv4) => ipv4 },
  { name: 'IPv4-translated', allowed: 'as its IPv4', embed: (ipv4) => (0xffffn << 48n) | ipv4 },
  { name: 'NAT64', allowed: 'as its IPv4', embed: (ipv4) => (0x64ff9bn << 96n) | ipv4 },
  {
    name: '6to4',
    allowed: 'as its IPv4',
    embed: (ipv4, chaff) => (0x2002n << 112n) | (ipv4 << 80n) | withoutIsatap(lowBits(chaff, 80n)),
  },
  {
    name: 'Teredo server',
    allowed: 'as its IPv4',
    embed: (ipv4, chaff) =>
      (0x20010000n << 96n) | (ipv4 << 64n) | withoutIsatap(lowBits(chaff, 64n) & ~ALL_BITS) | (PUBLIC_IPV4 ^ ALL_BITS),
  },
  {
    name: 'Teredo client',
    allowed: 'as its IPv4',
    embed: (ipv4, chaff) =>
      (0x20010000n << 96n) | (PUBLIC_IPV4 << 64n) | withoutIsatap(lowBits(chaff, 64n) & ~ALL_BITS) | (ipv4 ^ ALL_BITS),
  },
  ...[0x00005efen, 0x02005efen].map((identifier) => ({
    name: `ISATAP ${identifier.toString(16)}, under a public prefix`,
    allowed: 'as its IPv4' as const,
    embed: (ipv4: bigint, chaff: bigint) =>
      (0x26064700n << 96n) | (lowBits(chaff, 32n) << 64n) | (identifier << 32n) | ipv4,
  })),
  {
    name: 'ISATAP, link-local',
    allowed: 'never',
    embed: (ipv4) => (0xfe80n << 112n) | (0x5efen << 32n) | ipv4,
  },
  {
    name: 'NAT64 of the site',
    allowed: 'never',
    embed: (ipv4, chaff) => (0x64ff9b0001n << 80n) | (lowBits(chaff, 48n) << 32n) | ipv4,
  },
  {
    // RFC 6052, 2.2: 16 bits of the address, 8 zero bits, 16 bits of the address.
    name: 'NAT64 of the site, 48 bits of prefix',
    allowed: 'never',
    embed: (ipv4, chaff) =>
      (0x64ff9b0001n << 80n) | ((ipv4 >> 16n) << 64n) | ((ipv4 & 0xffffn) << 40n) | lowBits(chaff, 40n),
  },
];

/** URLs of forbidden targets, in every form. */
export const forbiddenForms: readonly string[] = [...forbiddenTargets, ...smuggledTargets];
export const publicForms: readonly string[] = publicTargets;

const resolve: ResolveName = async (name) => {
  const addresses = addressesByName[name];
  return addresses === undefined ? { failure: 'no_such_name' } : { addresses };
};

/** The guard of a service that is not on loopback, with the names of the corpus. */
export const corpusGuard: SsrfGuard = createSsrfGuard({ resolve, allowRules: [], isLoopbackAllowed: false });

/** Returns the host of a URL, as it is resolved. */
export function hostOf(form: string): string {
  return new URL(form).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Returns the addresses of the host of a URL. */
export function addressesOf(form: string): readonly string[] {
  const host = hostOf(form);
  return isIP(host) === 0 ? (addressesByName[host] ?? []) : [host];
}

/** Returns the port of a URL, or the default port of its protocol. */
export function portOf(form: string): number {
  const { port, protocol } = new URL(form);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Whether a URL is rejected before its host is resolved. */
export const isMalformed = (form: string): boolean => 'fault' in parseTarget(form);

/** Checks URLs with a guard: forbidden forms must be rejected, and public forms allowed. */
export async function checkForms(guard: SsrfGuard, forbidden: readonly string[]): Promise<RunResult> {
  const broken: string[] = [];
  const resultFor = async (form: string) => {
    const verdict = await guard.checkTarget(new URL(form));
    return 'failure' in verdict ? verdict.failure : verdict.allowed ? 'allowed' : 'forbidden';
  };
  for (const form of forbidden) {
    const word = await resultFor(form);
    if (word !== 'forbidden') broken.push(`${JSON.stringify(form)} is ${word}`);
  }
  for (const form of publicForms) {
    const word = isMalformed(form) ? 'malformed' : await resultFor(form);
    if (word !== 'allowed') broken.push(`${JSON.stringify(form)} is public, and ${word}`);
  }
  return {
    counts: { 'forbidden forms checked': forbidden.length, 'public forms checked': publicForms.length },
    broken,
  };
}

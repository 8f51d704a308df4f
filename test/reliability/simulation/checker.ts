import { check, formatFault } from '../checker/check.ts';
import type { Call, Crash, History } from '../checker/history.ts';
import type { Clients } from './clients.ts';
import type { Fact, Stored } from './database-state.ts';
import type { Network } from './network.ts';

/** Final state of a simulated world. */
export type FinalState = {
  readonly clients: Clients;
  readonly network: Network;
  readonly stored: Stored;
  readonly crashes: readonly Crash[];
  /** Backoffs, commit delays and clock changes, for the checker. */
  readonly times: Omit<History, 'calls' | 'arrivals' | 'database' | 'crashes'>;
};

/** Violations in a world, one per line. */
export function violationsIn(over: FinalState): string[] {
  const { clients, network, stored } = over;
  const made = [...stored.records.values()];
  return [
    ...check(historyOf(over)).map(formatFault),
    ...stored.violations,
    ...clients.violations,
    ...feedDifferences(clients, stored),
    ...unexpectedAttempts(over),
    ...network.forbidden.map((one) => `connected to ${one}`),
    ...made.filter((word, index) => made.indexOf(word) !== index).map((word) => `${word} was created twice`),
    ...made.filter((word) => clients.rejectedWords.has(word)).map((word) => `${word} was rejected, and exists`),
  ];
}

/** Hooks that the checker cannot tell apart. The number should be as low as possible. */
export const EXCLUDED = 'of these, excluded because they share a target';

/** Counters of what happened in a world. */
export function countsOf({ clients, network, stored, crashes }: FinalState): Record<string, number> {
  const done = clients.calls.filter(({ answeredAt }) => answeredAt !== undefined);
  const did = (what: (typeof done)[number]['did']) => done.filter((call) => call.did === what).length;
  const ended = (reason: string) => stored.hooks.filter(({ endedReason }) => endedReason === reason).length;
  const completions = done.filter((call) => call.did === 'occur' && call.kind.startsWith('completed'));
  return {
    'changes acknowledged': done.length,
    'of these, completions': completions.length,
    'hooks restored': did('restore'),
    notifications: network.arrivals.length,
    'answered 200': network.arrivals.filter(({ answer }) => answer === 200).length,
    'process exits': crashes.length,
    'of these, with pending deliveries': crashes.filter(({ pending }) => pending.size > 0).length,
    hooks: stored.hooks.length,
    [EXCLUDED]: stored.hooks.filter(hasSharedTarget(stored)).length,
    'removed at the third failure': ended('three_failures'),
    'removed at a 401': ended('answered_401'),
    deleted: ended('deleted'),
    'ended with the user': ended('user_deleted'),
  };
}

/** Whether a target was used by several hooks. */
function hasSharedTarget({ hooks }: Stored): (one: { readonly path: string }) => boolean {
  const known = new Set<string>();
  const taken = new Set<string>();
  for (const { path } of hooks) (known.has(path) ? taken : known).add(path);
  return ({ path }) => taken.has(path);
}

/**
 * If two hooks used one target, one after the other, an arrival cannot be assigned to one of them: both are
 * left out.
 */
function historyOf({ clients, network, stored, crashes, times }: FinalState): History {
  const isShared = hasSharedTarget(stored);
  const isUnambiguous = (call: Call) => !('path' in call && isShared(call));
  return {
    ...times,
    calls: clients.calls.filter(isUnambiguous),
    arrivals: network.arrivals.filter((one) => !isShared(one)),
    database: { ...stored, hooks: stored.hooks.filter((hook) => !isShared(hook)) },
    crashes,
  };
}

/** X2: the feed as clients read it, across crashes, equals the stored one, in order. */
function feedDifferences({ read }: Clients, { facts }: Stored): string[] {
  return [...read].flatMap(([domain, seen]) => {
    const all = facts.get(domain) ?? [];
    const differs = seen.findIndex((one, index) => !isSame(one, all[index]));
    return differs < 0
      ? []
      : [`${domain} read ${JSON.stringify(seen[differs])} at position ${differs + 1} of its feed`];
  });
}

function isSame(one: Fact, other: Fact | undefined): boolean {
  return one.kind === other?.kind && one.record === other.record && one.userId === other.userId;
}

/** X3: every stored attempt was made, and is stored once. */
function unexpectedAttempts({ network, stored }: FinalState): string[] {
  const made = Map.groupBy(network.arrivals, ({ deliveryId }) => deliveryId);
  return [...stored.attempts].flatMap(([id, count]) => {
    const received = made.get(id)?.length ?? 0;
    return count <= received ? [] : [`X3 delivery ${id} has ${count} stored attempts, and ${received} were made`];
  });
}

import type { Clock } from '../../clock.ts';

/** A permit for one attempt. `isProven`: the last outcome of the hook queue was 200. */
type Permit = { readonly accountId: number; readonly host: string; readonly isProven: boolean };

/**
 * A wait list: the hook queues of one account and one host that wait for a permit of this account and host, or for an
 * unproven permit (`isForUnprovenPermit`). The wait list with the lowest `sequence` number is served first.
 */
type WaitList<Queue> = {
  readonly accountId: number;
  readonly host: string;
  readonly isForUnprovenPermit: boolean;
  readonly queues: Set<Queue>;
  readonly sequence: number;
};

/**
 * The permits and the wait lists of one account or one host. `permitsInUse` counts attempts in flight and reserved
 * permits. `waitLists` begins with the list that has waited longest; its keys are the hosts of an account, or the
 * accounts of a host.
 */
type PermitPool<Queue> = { permitsInUse: number; readonly waitLists: Map<number | string, WaitList<Queue>> };

/** The methods of the rate limiter that are used for attempts to unproven targets. */
type UnprovenStartLimiter = Pick<StartRateLimiter, 'hasPermitLeft' | 'takePermit' | 'returnPermit'>;

/** Maximum numbers of attempts in flight. */
type ConcurrencyLimits = {
  /** Maximum number of attempts in flight per account. */
  readonly maxPerAccount: number;
  /** Maximum number of attempts in flight per host, over all accounts. */
  readonly maxPerHost: number;
  /** Maximum number of attempts in flight to all unproven targets together. */
  readonly maxUnproven: number;
};

/**
 * Semaphores with fair queueing: limits attempts in flight per account, per host, and over all unproven targets (those
 * whose last outcome was not 200), so that no account, no host and no set of hanging targets takes all permits (C22).
 * Attempts to unproven targets are also rate-limited.
 *
 * A hook queue that gets no permit is added to the wait list of its account and host. When a permit is released, the
 * wait lists are served round-robin, one queue from each. Wait lists for unproven permits are served round-robin by
 * account. A permit is reserved for each served queue until the queue calls `admitOrEnqueue`.
 */
export class ConcurrencyLimiter<Queue extends Permit> {
  readonly #limits: ConcurrencyLimits;
  readonly #unprovenStartLimiter: UnprovenStartLimiter;
  readonly #accountPools = new Map<number, PermitPool<Queue>>();
  readonly #hostPools = new Map<string, PermitPool<Queue>>();
  /** Wait lists for an unproven permit, by account and host. The account that has waited longest is first. */
  readonly #unprovenWaitLists = new Map<number, Map<string, WaitList<Queue>>>();
  readonly #reservedPermits = new Map<Queue, Permit>();
  #unprovenInFlightCount = 0;
  #lastSequence = 0;

  constructor(limits: ConcurrencyLimits, unprovenStartLimiter: UnprovenStartLimiter) {
    this.#limits = limits;
    this.#unprovenStartLimiter = unprovenStartLimiter;
  }

  /**
   * Returns whether the queue may start one more attempt. If not, adds the queue to a wait list; `serveWaitingQueues`
   * returns the queue later.
   */
  admitOrEnqueue(queue: Queue): boolean {
    const reservedPermit = this.#reservedPermits.get(queue);
    this.#reservedPermits.delete(queue);
    if (reservedPermit !== undefined) this.#releaseReservedPermit(reservedPermit);
    const hasFreePermits = this.#hasFreePermits(queue);
    const isAdmitted = hasFreePermits && this.#passesUnprovenLimit(queue);
    if (!isAdmitted) this.#addToWaitList(queue, hasFreePermits);
    return isAdmitted;
  }

  /** Acquires a permit for an attempt that starts. Pass the permit to `release` when the attempt has ended. */
  acquire({ accountId, host, isProven }: Queue): Permit {
    getOrCreatePool(this.#accountPools, accountId).permitsInUse += 1;
    getOrCreatePool(this.#hostPools, host).permitsInUse += 1;
    if (!isProven) {
      this.#unprovenInFlightCount += 1;
      this.#unprovenStartLimiter.takePermit();
    }
    return { accountId, host, isProven };
  }

  /** Releases the permit of an attempt that has ended. */
  release({ accountId, host, isProven }: Permit): void {
    releasePoolPermit(this.#accountPools, accountId);
    releasePoolPermit(this.#hostPools, host);
    if (!isProven) this.#unprovenInFlightCount -= 1;
  }

  /** Releases a reserved permit that the queue has not used. */
  #releaseReservedPermit(permit: Permit): void {
    this.release(permit);
    if (!permit.isProven) this.#unprovenStartLimiter.returnPermit();
  }

  /**
   * Returns the waiting queues that can be served now, after reserving a permit for each.
   *
   * @param releasedQueue the queue that has released a permit or does not need one: the wait lists of its account and
   *   its host are served. If omitted, only wait lists for unproven permits are served
   */
  serveWaitingQueues(releasedQueue?: Queue): Queue[] {
    const servedQueues: Queue[] = [];
    for (;;) {
      const accountWaitList =
        releasedQueue && this.#findServableWaitList(this.#accountPools.get(releasedQueue.accountId)?.waitLists);
      const hostWaitList =
        releasedQueue && this.#findServableWaitList(this.#hostPools.get(releasedQueue.host)?.waitLists);
      const candidateWaitLists = [accountWaitList, hostWaitList, this.#findServableUnprovenList()].filter(
        (waitList) => waitList !== undefined,
      );
      const [waitList] = candidateWaitLists.sort((a, b) => a.sequence - b.sequence);
      const [queue] = waitList?.queues ?? [];
      if (waitList === undefined || queue === undefined) return servedQueues;
      waitList.queues.delete(queue);
      // A queue can be on two wait lists (for its account and host, and for an unproven permit), but is served once.
      const isReserved = this.#reservedPermits.has(queue);
      const isServed = !isReserved && this.#passesUnprovenLimit(queue);
      if (isServed || waitList.queues.size === 0) this.#removeWaitList(waitList);
      if (isServed) {
        if (waitList.queues.size > 0) this.#appendWaitList(waitList);
        this.#reservedPermits.set(queue, this.acquire(queue));
        servedQueues.push(queue);
      } else if (!isReserved) this.#addToWaitList(queue, true);
    }
  }

  /**
   * Returns the first wait list whose account and host both have a free permit. Skips at most one wait list for each
   * account or host without a free permit.
   */
  #findServableWaitList(
    waitLists: ReadonlyMap<number | string, WaitList<Queue>> | undefined,
  ): WaitList<Queue> | undefined {
    for (const waitList of waitLists?.values() ?? []) if (this.#hasFreePermits(waitList)) return waitList;
    return undefined;
  }

  #findServableUnprovenList(): WaitList<Queue> | undefined {
    if (!this.#hasUnprovenPermit) return undefined;
    for (const [accountId, waitLists] of this.#unprovenWaitLists) {
      const hasAccountPermit = (this.#accountPools.get(accountId)?.permitsInUse ?? 0) < this.#limits.maxPerAccount;
      const waitList = hasAccountPermit ? this.#findServableWaitList(waitLists) : undefined;
      if (waitList !== undefined) return waitList;
    }
    return undefined;
  }

  /**
   * Adds a queue to the wait list of its account and host.
   *
   * @param isForUnprovenPermit whether the queue waits for an unproven permit, not for a permit of its account or host
   */
  #addToWaitList(queue: Queue, isForUnprovenPermit: boolean): void {
    const { accountId, host } = queue;
    const waitLists = isForUnprovenPermit
      ? this.#unprovenWaitLists.get(accountId)
      : this.#accountPools.get(accountId)?.waitLists;
    const waitList = waitLists?.get(host);
    if (waitList === undefined)
      this.#appendWaitList({ accountId, host, isForUnprovenPermit, queues: new Set([queue]) });
    else waitList.queues.add(queue);
  }

  #appendWaitList(newWaitList: Omit<WaitList<Queue>, 'sequence'>): void {
    const { accountId, host, isForUnprovenPermit } = newWaitList;
    this.#lastSequence += 1;
    const waitList = { ...newWaitList, sequence: this.#lastSequence };
    if (isForUnprovenPermit) {
      const waitLists = this.#unprovenWaitLists.get(accountId) ?? new Map<string, WaitList<Queue>>();
      this.#unprovenWaitLists.set(accountId, waitLists.set(host, waitList));
      return;
    }
    getOrCreatePool(this.#accountPools, accountId).waitLists.set(host, waitList);
    getOrCreatePool(this.#hostPools, host).waitLists.set(accountId, waitList);
  }

  /**
   * Removes a wait list. If it was for unproven permits, the other such lists of its account move behind those of all
   * other accounts.
   */
  #removeWaitList({ accountId, host, isForUnprovenPermit }: WaitList<Queue>): void {
    if (!isForUnprovenPermit) {
      this.#accountPools.get(accountId)?.waitLists.delete(host);
      this.#hostPools.get(host)?.waitLists.delete(accountId);
      return;
    }
    const waitLists = this.#unprovenWaitLists.get(accountId);
    this.#unprovenWaitLists.delete(accountId);
    waitLists?.delete(host);
    if (waitLists !== undefined && waitLists.size > 0) this.#unprovenWaitLists.set(accountId, waitLists);
  }

  #hasFreePermits({ accountId, host }: Pick<Permit, 'accountId' | 'host'>): boolean {
    const [accountPermitCount, hostPermitCount] = [
      this.#accountPools.get(accountId)?.permitsInUse ?? 0,
      this.#hostPools.get(host)?.permitsInUse ?? 0,
    ];
    return accountPermitCount < this.#limits.maxPerAccount && hostPermitCount < this.#limits.maxPerHost;
  }

  #passesUnprovenLimit({ isProven }: Queue): boolean {
    return isProven || this.#hasUnprovenPermit;
  }

  get #hasUnprovenPermit(): boolean {
    return this.#unprovenInFlightCount < this.#limits.maxUnproven && this.#unprovenStartLimiter.hasPermitLeft;
  }
}

function getOrCreatePool<K, Queue>(pools: Map<K, PermitPool<Queue>>, key: K): PermitPool<Queue> {
  const pool = pools.get(key) ?? { permitsInUse: 0, waitLists: new Map() };
  pools.set(key, pool);
  return pool;
}

function releasePoolPermit<K, Queue>(pools: Map<K, PermitPool<Queue>>, key: K): void {
  const pool = getOrCreatePool(pools, key);
  pool.permitsInUse -= 1;
  if (pool.permitsInUse === 0 && pool.waitLists.size === 0) pools.delete(key);
}

type StartRateLimiterDeps = {
  readonly clock: Clock;
  /** Maximum number of starts per interval of `intervalMs`. */
  readonly maxStarts: number;
  readonly intervalMs: number;
  /** Called when the next interval begins, with all permits renewed. */
  readonly onPermitsRenewed: () => void;
};

/** Rate limiter for the starts of attempts (fixed window): spreads bursts over time, but delays no single start. */
export class StartRateLimiter {
  readonly #deps: StartRateLimiterDeps;
  #permitsLeft: number;
  #isTimerRunning = false;

  constructor(deps: StartRateLimiterDeps) {
    this.#deps = deps;
    this.#permitsLeft = deps.maxStarts;
  }

  /** Whether a permit is left in this interval. */
  get hasPermitLeft(): boolean {
    return this.#permitsLeft > 0;
  }

  /** Takes a permit. The first permit of an interval starts the timer that renews all permits. */
  takePermit(): void {
    this.#permitsLeft -= 1;
    if (this.#isTimerRunning) return;
    this.#isTimerRunning = true;
    this.#deps.clock.after(this.#deps.intervalMs, () => {
      this.#isTimerRunning = false;
      this.#permitsLeft = this.#deps.maxStarts;
      this.#deps.onPermitsRenewed();
    });
  }

  /** Returns a permit that was taken but not used. */
  returnPermit(): void {
    this.#permitsLeft = Math.min(this.#permitsLeft + 1, this.#deps.maxStarts);
  }
}

/** Returns host and port of a target, which share a concurrency limit. */
export function hostAndPortOf(target: string): string {
  const { protocol, hostname, port } = new URL(target);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

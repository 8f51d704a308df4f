import type { StartRateLimiter } from './start-rate-limiter.ts';

/** A permit for one attempt. `isProven`: the last outcome of its hook queue was 200. */
type Permit = { readonly accountId: number; readonly host: string; readonly isProven: boolean };

/**
 * The waiting hook queues of one account and one host. `turn` is a sequence number: the line with the lowest is served
 * first.
 */
type WaitingLine<L> = {
  readonly accountId: number;
  readonly host: string;
  readonly isUnproven: boolean;
  readonly queues: Set<L>;
  readonly turn: number;
};

/**
 * The permits and the waiting lines of an account or a host. `permitsInUse` counts attempts in flight and reserved
 * permits. `lines` begins with the line that has waited longest.
 */
type LimitedOwner<L> = { permitsInUse: number; readonly lines: Map<number | string, WaitingLine<L>> };

/** The methods of the rate limiter that are used for attempts to unproven targets. */
type UnprovenStartRate = Pick<StartRateLimiter, 'isLeft' | 'take' | 'giveBack'>;

/** Maximum numbers of attempts in flight. */
type ConcurrencyLimits = {
  /** Maximum number of attempts in flight per account. */
  readonly account: number;
  /** Maximum number of attempts in flight per host, over all accounts. */
  readonly host: number;
  /** Maximum number of attempts in flight to all unproven targets together. */
  readonly unproven: number;
};

/**
 * Semaphores with fair queueing: limits attempts in flight per account, per host, and over all unproven targets (those
 * whose last outcome was not 200), so that no account, no host and no set of hanging targets takes all slots (C22).
 * Attempts to unproven targets are also rate-limited.
 *
 * A hook queue that gets no permit waits in the line of its account and host. When a permit is released, the lines are
 * served round-robin, one queue from each; lines of unproven targets are served round-robin by account. A served queue
 * holds a reserved permit until it calls `admitOrEnqueue`.
 */
export class ConcurrencyLimiter<L extends Permit> {
  readonly #limits: ConcurrencyLimits;
  readonly #startRate: UnprovenStartRate;
  readonly #accounts = new Map<number, LimitedOwner<L>>();
  readonly #hosts = new Map<string, LimitedOwner<L>>();
  /** Lines that wait for an unproven permit, by account and host. The account that has waited longest is first. */
  readonly #unprovenLines = new Map<number, Map<string, WaitingLine<L>>>();
  readonly #reservedPermits = new Map<L, Permit>();
  #unprovenInFlight = 0;
  #lastTurn = 0;

  constructor(limits: ConcurrencyLimits, startRate: UnprovenStartRate) {
    this.#limits = limits;
    this.#startRate = startRate;
  }

  /**
   * Whether the queue may start one more attempt. If not, the queue waits in line, and `serveWaiting` returns it later.
   */
  admitOrEnqueue(queue: L): boolean {
    const reservedPermit = this.#reservedPermits.get(queue);
    this.#reservedPermits.delete(queue);
    if (reservedPermit !== undefined) this.#releaseReserved(reservedPermit);
    const hasRoom = this.#hasRoom(queue);
    const isAdmitted = hasRoom && this.#mayStart(queue);
    if (!isAdmitted) this.#addToLine(queue, hasRoom);
    return isAdmitted;
  }

  /** Takes a permit for an attempt that starts. Pass the permit to `release` when the attempt has ended. */
  acquire({ accountId, host, isProven }: L): Permit {
    getOrCreateOwner(this.#accounts, accountId).permitsInUse += 1;
    getOrCreateOwner(this.#hosts, host).permitsInUse += 1;
    if (!isProven) {
      this.#unprovenInFlight += 1;
      this.#startRate.take();
    }
    return { accountId, host, isProven };
  }

  release({ accountId, host, isProven }: Permit): void {
    returnPermit(this.#accounts, accountId);
    returnPermit(this.#hosts, host);
    if (!isProven) this.#unprovenInFlight -= 1;
  }

  /** Releases a permit that was reserved for a queue and is not used. */
  #releaseReserved(permit: Permit): void {
    this.release(permit);
    if (!permit.isProven) this.#startRate.giveBack();
  }

  /**
   * Returns the waiting queues that can be served now, after reserving a permit for each.
   *
   * @param releasedQueue the queue that has released a permit or does not need one: lines of its account and its host are
   *   served. If omitted, only lines of unproven targets are served
   */
  serveWaiting(releasedQueue?: L): L[] {
    const servedQueues: L[] = [];
    for (;;) {
      const accountLine = releasedQueue && this.#findServableLine(this.#accounts.get(releasedQueue.accountId)?.lines);
      const hostLine = releasedQueue && this.#findServableLine(this.#hosts.get(releasedQueue.host)?.lines);
      const candidateLines = [accountLine, hostLine, this.#findServableUnprovenLine()].filter(
        (line) => line !== undefined,
      );
      const [line] = candidateLines.sort((a, b) => a.turn - b.turn);
      const [queue] = line?.queues ?? [];
      if (line === undefined || queue === undefined) return servedQueues;
      line.queues.delete(queue);
      // A queue can wait in two lines (for its account and host, and for an unproven permit), but is served only once.
      const isReserved = this.#reservedPermits.has(queue);
      const isServed = !isReserved && this.#mayStart(queue);
      if (isServed || line.queues.size === 0) this.#removeLine(line);
      if (isServed) {
        if (line.queues.size > 0) this.#appendLine(line);
        this.#reservedPermits.set(queue, this.acquire(queue));
        servedQueues.push(queue);
      } else if (!isReserved) this.#addToLine(queue, true);
    }
  }

  /**
   * Returns the first line whose account and host both have a free permit. Skips at most as many lines as there are
   * accounts or hosts without one.
   */
  #findServableLine(lines: ReadonlyMap<number | string, WaitingLine<L>> | undefined): WaitingLine<L> | undefined {
    for (const line of lines?.values() ?? []) if (this.#hasRoom(line)) return line;
    return undefined;
  }

  #findServableUnprovenLine(): WaitingLine<L> | undefined {
    if (!this.#hasUnprovenPermit) return undefined;
    for (const [accountId, lines] of this.#unprovenLines) {
      const hasRoom = (this.#accounts.get(accountId)?.permitsInUse ?? 0) < this.#limits.account;
      const line = hasRoom ? this.#findServableLine(lines) : undefined;
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /**
   * Adds a queue to the line of its account and host.
   *
   * @param isUnproven whether the queue waits for an unproven permit, not for a permit of its account or host
   */
  #addToLine(queue: L, isUnproven: boolean): void {
    const { accountId, host } = queue;
    const lines = isUnproven ? this.#unprovenLines.get(accountId) : this.#accounts.get(accountId)?.lines;
    const line = lines?.get(host);
    if (line === undefined) this.#appendLine({ accountId, host, isUnproven, queues: new Set([queue]) });
    else line.queues.add(queue);
  }

  #appendLine(lineWithoutTurn: Omit<WaitingLine<L>, 'turn'>): void {
    const { accountId, host, isUnproven } = lineWithoutTurn;
    this.#lastTurn += 1;
    const line = { ...lineWithoutTurn, turn: this.#lastTurn };
    if (isUnproven) {
      const lines = this.#unprovenLines.get(accountId) ?? new Map<string, WaitingLine<L>>();
      this.#unprovenLines.set(accountId, lines.set(host, line));
      return;
    }
    getOrCreateOwner(this.#accounts, accountId).lines.set(host, line);
    getOrCreateOwner(this.#hosts, host).lines.set(accountId, line);
  }

  /**
   * Removes a line. If it is unproven, the other unproven lines of its account move behind those of all other accounts.
   */
  #removeLine({ accountId, host, isUnproven }: WaitingLine<L>): void {
    if (!isUnproven) {
      this.#accounts.get(accountId)?.lines.delete(host);
      this.#hosts.get(host)?.lines.delete(accountId);
      return;
    }
    const lines = this.#unprovenLines.get(accountId);
    this.#unprovenLines.delete(accountId);
    lines?.delete(host);
    if (lines !== undefined && lines.size > 0) this.#unprovenLines.set(accountId, lines);
  }

  #hasRoom({ accountId, host }: Pick<Permit, 'accountId' | 'host'>): boolean {
    const [accountPermits, hostPermits] = [
      this.#accounts.get(accountId)?.permitsInUse ?? 0,
      this.#hosts.get(host)?.permitsInUse ?? 0,
    ];
    return accountPermits < this.#limits.account && hostPermits < this.#limits.host;
  }

  #mayStart({ isProven }: L): boolean {
    return isProven || this.#hasUnprovenPermit;
  }

  get #hasUnprovenPermit(): boolean {
    return this.#unprovenInFlight < this.#limits.unproven && this.#startRate.isLeft;
  }
}

function getOrCreateOwner<K, L>(owners: Map<K, LimitedOwner<L>>, key: K): LimitedOwner<L> {
  const owner = owners.get(key) ?? { permitsInUse: 0, lines: new Map() };
  owners.set(key, owner);
  return owner;
}

function returnPermit<K, L>(owners: Map<K, LimitedOwner<L>>, key: K): void {
  const owner = getOrCreateOwner(owners, key);
  owner.permitsInUse -= 1;
  if (owner.permitsInUse === 0 && owner.lines.size === 0) owners.delete(key);
}

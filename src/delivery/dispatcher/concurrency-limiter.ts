import type { StartRateLimiter } from './start-rate-limiter.ts';

/** A permit for one attempt, with its account, its host, and whether its target is proven: the last outcome was 200. */
type Permit = { readonly accountId: number; readonly host: string; readonly isProven: boolean };

/**
 * The waiting hook queues of one account and one host. `turn` is a sequence number: the line with the lowest is served
 * first.
 */
type Line<L> = {
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
type LimitedOwner<L> = { taken: number; readonly lines: Map<number | string, Line<L>> };

/** The methods of the rate limiter that are used for attempts to unproven targets. */
type UnprovenStartRate = Pick<StartRateLimiter, 'isLeft' | 'take' | 'giveBack'>;

/** Maximum numbers of attempts in flight. */
type Limits = {
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
  readonly #limits: Limits;
  readonly #startRate: UnprovenStartRate;
  readonly #accounts = new Map<number, LimitedOwner<L>>();
  readonly #hosts = new Map<string, LimitedOwner<L>>();
  /** Lines that wait for an unproven permit, by account and host. The account that has waited longest is first. */
  readonly #unproven = new Map<number, Map<string, Line<L>>>();
  readonly #reserved = new Map<L, Permit>();
  #unprovenInFlight = 0;
  #lastTurn = 0;

  constructor(limits: Limits, startRate: UnprovenStartRate) {
    this.#limits = limits;
    this.#startRate = startRate;
  }

  /**
   * Whether the queue may start one more attempt. If not, the queue waits in line, and `serveWaiting` returns it later.
   */
  admits(queue: L): boolean {
    const reserved = this.#reserved.get(queue);
    this.#reserved.delete(queue);
    if (reserved !== undefined) this.#cancel(reserved);
    const hasRoom = this.#hasRoom(queue);
    const admits = hasRoom && this.#mayAttempt(queue);
    if (!admits) this.#putInLine(queue, hasRoom);
    return admits;
  }

  /** Takes a permit for an attempt that starts. Pass the permit to `release` when the attempt has ended. */
  acquire({ accountId, host, isProven }: L): Permit {
    ownerOf(this.#accounts, accountId).taken += 1;
    ownerOf(this.#hosts, host).taken += 1;
    if (!isProven) {
      this.#unprovenInFlight += 1;
      this.#startRate.take();
    }
    return { accountId, host, isProven };
  }

  release({ accountId, host, isProven }: Permit): void {
    decrement(this.#accounts, accountId);
    decrement(this.#hosts, host);
    if (!isProven) this.#unprovenInFlight -= 1;
  }

  /** Releases a permit that was reserved for a queue and is not used. */
  #cancel(permit: Permit): void {
    this.release(permit);
    if (!permit.isProven) this.#startRate.giveBack();
  }

  /**
   * Returns the waiting queues that can be served now, after reserving a permit for each.
   *
   * @param released the queue that has released a permit or does not need one: lines of its account and its host are
   *   served. If omitted, only lines of unproven targets are served
   */
  next(released?: L): L[] {
    const served: L[] = [];
    for (;;) {
      const ofAccount = released && this.#nextOf(this.#accounts.get(released.accountId)?.lines);
      const toHost = released && this.#nextOf(this.#hosts.get(released.host)?.lines);
      const waiting = [ofAccount, toHost, this.#nextUnproven()].filter((line) => line !== undefined);
      const [line] = waiting.sort((a, b) => a.turn - b.turn);
      const [queue] = line?.queues ?? [];
      if (line === undefined || queue === undefined) return served;
      line.queues.delete(queue);
      // A queue can wait in two lines, for its account or host and for an unproven permit; it is served once.
      const isReserved = this.#reserved.has(queue);
      const isServed = !isReserved && this.#mayAttempt(queue);
      if (isServed || line.queues.size === 0) this.#remove(line);
      if (isServed) {
        if (line.queues.size > 0) this.#putLast(line);
        this.#reserved.set(queue, this.acquire(queue));
        served.push(queue);
      } else if (!isReserved) this.#putInLine(queue, true);
    }
  }

  /**
   * Returns the first line whose account and host both have a free permit. Skips at most as many lines as there are
   * accounts or hosts without one.
   */
  #nextOf(lines: ReadonlyMap<number | string, Line<L>> | undefined): Line<L> | undefined {
    for (const line of lines?.values() ?? []) if (this.#hasRoom(line)) return line;
    return undefined;
  }

  #nextUnproven(): Line<L> | undefined {
    if (!this.#mayAttemptOne) return undefined;
    for (const [accountId, lines] of this.#unproven) {
      const hasRoom = (this.#accounts.get(accountId)?.taken ?? 0) < this.#limits.account;
      const line = hasRoom ? this.#nextOf(lines) : undefined;
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /**
   * Adds a queue to the line of its account and host.
   *
   * @param isUnproven whether the queue waits for an unproven permit, not for a permit of its account or host
   */
  #putInLine(queue: L, isUnproven: boolean): void {
    const { accountId, host } = queue;
    const lines = isUnproven ? this.#unproven.get(accountId) : this.#accounts.get(accountId)?.lines;
    const line = lines?.get(host);
    if (line === undefined) this.#putLast({ accountId, host, isUnproven, queues: new Set([queue]) });
    else line.queues.add(queue);
  }

  #putLast(waiting: Omit<Line<L>, 'turn'>): void {
    const { accountId, host, isUnproven } = waiting;
    this.#lastTurn += 1;
    const line = { ...waiting, turn: this.#lastTurn };
    if (isUnproven) {
      const lines = this.#unproven.get(accountId) ?? new Map<string, Line<L>>();
      this.#unproven.set(accountId, lines.set(host, line));
      return;
    }
    ownerOf(this.#accounts, accountId).lines.set(host, line);
    ownerOf(this.#hosts, host).lines.set(accountId, line);
  }

  /**
   * Removes a line. If it is unproven, the other unproven lines of its account move behind those of all other accounts.
   */
  #remove({ accountId, host, isUnproven }: Line<L>): void {
    if (!isUnproven) {
      this.#accounts.get(accountId)?.lines.delete(host);
      this.#hosts.get(host)?.lines.delete(accountId);
      return;
    }
    const lines = this.#unproven.get(accountId);
    this.#unproven.delete(accountId);
    lines?.delete(host);
    if (lines !== undefined && lines.size > 0) this.#unproven.set(accountId, lines);
  }

  #hasRoom({ accountId, host }: Pick<Permit, 'accountId' | 'host'>): boolean {
    const [ofAccount, toHost] = [this.#accounts.get(accountId)?.taken ?? 0, this.#hosts.get(host)?.taken ?? 0];
    return ofAccount < this.#limits.account && toHost < this.#limits.host;
  }

  #mayAttempt({ isProven }: L): boolean {
    return isProven || this.#mayAttemptOne;
  }

  get #mayAttemptOne(): boolean {
    return this.#unprovenInFlight < this.#limits.unproven && this.#startRate.isLeft;
  }
}

function ownerOf<K, L>(owners: Map<K, LimitedOwner<L>>, key: K): LimitedOwner<L> {
  const owner = owners.get(key) ?? { taken: 0, lines: new Map() };
  owners.set(key, owner);
  return owner;
}

function decrement<K, L>(owners: Map<K, LimitedOwner<L>>, key: K): void {
  const owner = ownerOf(owners, key);
  owner.taken -= 1;
  if (owner.taken === 0 && owner.lines.size === 0) owners.delete(key);
}

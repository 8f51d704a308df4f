import type { StartRateLimiter } from './start-rate-limiter.ts';

/** Whose attempt one of a lane is, where it goes, and whether the target is known to answer: the last time, it did. */
type Place = { readonly accountId: number; readonly host: string; readonly isProven: boolean };

/**
 * Lanes of one account to one host that wait, for room there or for a trial, and the number of their last turn.
 */
type Line<L> = {
  readonly accountId: number;
  readonly host: string;
  readonly isUnproven: boolean;
  readonly queues: Set<L>;
  readonly turn: number;
};

/**
 * An account or a host: attempts in flight, with the room that is kept for lanes that were called; and the lines that
 * wait, the one first that has waited longest.
 */
type LimitedOwner<L> = { taken: number; readonly lines: Map<number | string, Line<L>> };

/** How soon after each other attempts on trial may begin. */
type UnprovenLimit = Pick<StartRateLimiter, 'isLeft' | 'take' | 'giveBack'>;

/** How many attempts may be in flight. */
type Limits = {
  /** Of one account. */
  readonly account: number;
  /** To one host. */
  readonly host: number;
  /** To all targets together that are not known to answer. */
  readonly unproven: number;
};

/**
 * How many attempts each account has in flight, how many go to each host, and how many are on trial, to targets that are
 * not known to answer; and which lanes wait because one of these has its share: so that what is one account's (C22), or
 * goes to one host, or may well hang, leaves slots to the others, and no more than the share goes out at once. What is on
 * trial begins at a pace. Lanes of one account to one host wait in one line, and the lines get a turn each; on trial, the
 * accounts do.
 */
export class ConcurrencyLimiter<L extends Place> {
  readonly #most: Limits;
  readonly #pace: UnprovenLimit;
  readonly #accounts = new Map<number, LimitedOwner<L>>();
  readonly #hosts = new Map<string, LimitedOwner<L>>();
  /** The lines of each account that wait for a trial, the account first that has waited longest for a turn. */
  readonly #unproven = new Map<number, Map<string, Line<L>>>();
  readonly #called = new Map<L, Place>();
  #unprovenInFlight = 0;
  #turns = 0;

  constructor(most: Limits, pace: UnprovenLimit) {
    this.#most = most;
    this.#pace = pace;
  }

  /** Whether one more of a lane may begin; if not, the lane is kept until it may. */
  admits(queue: L): boolean {
    const kept = this.#called.get(queue);
    this.#called.delete(queue);
    if (kept !== undefined) this.#cancel(kept);
    const hasRoom = this.#hasRoom(queue);
    const admits = hasRoom && this.#mayAttempt(queue);
    if (!admits) this.#keep(queue, hasRoom);
    return admits;
  }

  /** One of this lane begins; answers what is given back when it has ended. */
  acquire({ accountId, host, isProven }: L): Place {
    holderOf(this.#accounts, accountId).taken += 1;
    holderOf(this.#hosts, host).taken += 1;
    if (!isProven) {
      this.#unprovenInFlight += 1;
      this.#pace.take();
    }
    return { accountId, host, isProven };
  }

  release({ accountId, host, isProven }: Place): void {
    leave(this.#accounts, accountId);
    leave(this.#hosts, host);
    if (!isProven) this.#unprovenInFlight -= 1;
  }

  /** Gives back a place in which nothing has begun. */
  #cancel(place: Place): void {
    this.release(place);
    if (!place.isProven) this.#pace.giveBack();
  }

  /**
   * Where there is room beside a lane, which it has no use for or has just left, or where more may be tried: those that
   * have waited for it.
   */
  next(beside?: L): L[] {
    const called: L[] = [];
    for (;;) {
      const ofAccount = beside && this.#nextOf(this.#accounts.get(beside.accountId)?.lines);
      const toHost = beside && this.#nextOf(this.#hosts.get(beside.host)?.lines);
      const waiting = [ofAccount, toHost, this.#nextUnproven()].filter((line) => line !== undefined);
      const [line] = waiting.sort((a, b) => a.turn - b.turn);
      const [queue] = line?.queues ?? [];
      if (line === undefined || queue === undefined) return called;
      line.queues.delete(queue);
      // It may have waited for room, and for a trial since: once is enough.
      const isCalled = this.#called.has(queue);
      const begins = !isCalled && this.#mayAttempt(queue);
      if (begins || line.queues.size === 0) this.#remove(line);
      if (begins) {
        if (line.queues.size > 0) this.#putLast(line);
        this.#called.set(queue, this.acquire(queue));
        called.push(queue);
      } else if (!isCalled) this.#keep(queue, true);
    }
  }

  /** Passes over the lines that have no room at their other end: as many as there are holders that have their share. */
  #nextOf(lines: ReadonlyMap<number | string, Line<L>> | undefined): Line<L> | undefined {
    for (const line of lines?.values() ?? []) if (this.#hasRoom(line)) return line;
    return undefined;
  }

  #nextUnproven(): Line<L> | undefined {
    if (!this.#mayAttemptOne) return undefined;
    for (const [accountId, lines] of this.#unproven) {
      const hasRoom = (this.#accounts.get(accountId)?.taken ?? 0) < this.#most.account;
      const line = hasRoom ? this.#nextOf(lines) : undefined;
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /** In the line that it belongs to, behind the others. */
  #keep(queue: L, isUnproven: boolean): void {
    const { accountId, host } = queue;
    const lines = isUnproven ? this.#unproven.get(accountId) : this.#accounts.get(accountId)?.lines;
    const line = lines?.get(host);
    if (line === undefined) this.#putLast({ accountId, host, isUnproven, queues: new Set([queue]) });
    else line.queues.add(queue);
  }

  #putLast(waiting: Omit<Line<L>, 'turn'>): void {
    const { accountId, host, isUnproven } = waiting;
    this.#turns += 1;
    const line = { ...waiting, turn: this.#turns };
    if (isUnproven) {
      const lines = this.#unproven.get(accountId) ?? new Map<string, Line<L>>();
      this.#unproven.set(accountId, lines.set(host, line));
      return;
    }
    holderOf(this.#accounts, accountId).lines.set(host, line);
    holderOf(this.#hosts, host).lines.set(accountId, line);
  }

  /** Takes a line out; whatever else of its account waits for a trial comes after all others. */
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

  #hasRoom({ accountId, host }: Pick<Place, 'accountId' | 'host'>): boolean {
    const [ofAccount, toHost] = [this.#accounts.get(accountId)?.taken ?? 0, this.#hosts.get(host)?.taken ?? 0];
    return ofAccount < this.#most.account && toHost < this.#most.host;
  }

  #mayAttempt({ isProven }: L): boolean {
    return isProven || this.#mayAttemptOne;
  }

  get #mayAttemptOne(): boolean {
    return this.#unprovenInFlight < this.#most.unproven && this.#pace.isLeft;
  }
}

function holderOf<K, L>(holders: Map<K, LimitedOwner<L>>, name: K): LimitedOwner<L> {
  const holder = holders.get(name) ?? { taken: 0, lines: new Map() };
  holders.set(name, holder);
  return holder;
}

function leave<K, L>(holders: Map<K, LimitedOwner<L>>, name: K): void {
  const holder = holderOf(holders, name);
  holder.taken -= 1;
  if (holder.taken === 0 && holder.lines.size === 0) holders.delete(name);
}

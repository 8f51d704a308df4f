/** Whose attempt one of a lane is, and where it goes. */
type Placed = { readonly accountId: number; readonly host: string };

/** Lanes of one account to one host that wait, and the number of their last turn. */
type Line<L> = { readonly lanes: Set<L>; readonly turn: number };

/**
 * An account or a host: attempts in flight, with the room that is kept for lanes that were called; and the lines that
 * wait, the one first that has waited longest.
 */
type Holder<L> = { taken: number; readonly lines: Map<number | string, Line<L>> };

/**
 * How many attempts each account has in flight, and how many go to each host, and which lanes wait because either has
 * its share: so that what is one account's (C22), or goes to one host, leaves slots to the others, and no more than the
 * share goes out at once. Lanes of one account to one host wait in one line, and the lines get a turn each.
 */
export class Shares<L extends Placed> {
  readonly #most: { readonly account: number; readonly host: number };
  readonly #accounts = new Map<number, Holder<L>>();
  readonly #hosts = new Map<string, Holder<L>>();
  readonly #called = new Set<L>();
  #turns = 0;

  /** @param most the most attempts of one account, and to one host */
  constructor(most: { readonly account: number; readonly host: number }) {
    this.#most = most;
  }

  /** Whether one more of a lane may begin; if not, the lane is kept until it may. */
  admits(lane: L): boolean {
    if (this.#called.delete(lane)) {
      this.giveBack(lane);
      return true;
    }
    if (this.#hasRoom(lane)) return true;
    const line = this.#accounts.get(lane.accountId)?.lines.get(lane.host);
    if (line === undefined) this.#putLast(lane, new Set([lane]));
    else line.lanes.add(lane);
    return false;
  }

  take({ accountId, host }: L): void {
    holderOf(this.#accounts, accountId).taken += 1;
    holderOf(this.#hosts, host).taken += 1;
  }

  giveBack({ accountId, host }: L): void {
    leave(this.#accounts, accountId);
    leave(this.#hosts, host);
  }

  /** Where there is room beside a lane, which it has no use for or has just left: those that have waited for it. */
  call({ accountId, host }: L): L[] {
    const called: L[] = [];
    for (;;) {
      const ofAccount = this.#nextOf(this.#accounts.get(accountId));
      const toHost = this.#nextOf(this.#hosts.get(host));
      const [next] = [ofAccount, toHost].filter((line) => line !== undefined).sort((a, b) => a.turn - b.turn);
      const [lane] = next?.lanes ?? [];
      if (next === undefined || lane === undefined) return called;
      next.lanes.delete(lane);
      this.#accounts.get(lane.accountId)?.lines.delete(lane.host);
      this.#hosts.get(lane.host)?.lines.delete(lane.accountId);
      if (next.lanes.size > 0) this.#putLast(lane, next.lanes);
      this.#called.add(lane);
      this.take(lane);
      called.push(lane);
    }
  }

  /** Passes over the lines that have no room at their other end: as many as there are holders that have their share. */
  #nextOf(holder: Holder<L> | undefined): Line<L> | undefined {
    for (const line of holder?.lines.values() ?? []) {
      const [lane] = line.lanes;
      if (lane !== undefined && this.#hasRoom(lane)) return line;
    }
    return undefined;
  }

  /** The line that this lane belongs to. */
  #putLast({ accountId, host }: L, lanes: Set<L>): void {
    this.#turns += 1;
    const line = { lanes, turn: this.#turns };
    holderOf(this.#accounts, accountId).lines.set(host, line);
    holderOf(this.#hosts, host).lines.set(accountId, line);
  }

  #hasRoom({ accountId, host }: L): boolean {
    const [ofAccount, toHost] = [this.#accounts.get(accountId)?.taken ?? 0, this.#hosts.get(host)?.taken ?? 0];
    return ofAccount < this.#most.account && toHost < this.#most.host;
  }
}

function holderOf<K, L>(holders: Map<K, Holder<L>>, name: K): Holder<L> {
  const holder = holders.get(name) ?? { taken: 0, lines: new Map() };
  holders.set(name, holder);
  return holder;
}

function leave<K, L>(holders: Map<K, Holder<L>>, name: K): void {
  const holder = holderOf(holders, name);
  holder.taken -= 1;
  if (holder.taken === 0 && holder.lines.size === 0) holders.delete(name);
}

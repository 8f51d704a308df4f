type Share<L> = { inFlight: number; readonly waiting: Set<L>; readonly called: Set<L> };

/**
 * How many attempts each holder has in flight, and which lanes wait because their holder has its share: so that what is
 * one account's (C22), or goes to one host, leaves slots to the others, and no more than the share goes out at once.
 */
export class Shares<L, K> {
  readonly #holderOf: (lane: L) => K;
  readonly #most: number;
  readonly #shares = new Map<K, Share<L>>();

  /** @param most the most attempts of one holder */
  constructor(holderOf: (lane: L) => K, most: number) {
    this.#holderOf = holderOf;
    this.#most = most;
  }

  /** Whether one more of a lane may begin; if not, the lane is kept until it may. */
  admits(lane: L): boolean {
    const share = this.#shareOf(lane);
    share.called.delete(lane);
    // Room that another lane was called for is not free.
    if (share.inFlight + share.called.size < this.#most) return true;
    share.waiting.add(lane);
    return false;
  }

  take(lane: L): void {
    this.#shareOf(lane).inFlight += 1;
  }

  giveBack(lane: L): void {
    this.#shareOf(lane).inFlight -= 1;
  }

  /** One lane that has waited beside this one and need not any more; this one has no use for the room that it had. */
  nextWaiting(beside: L): L | undefined {
    const share = this.#shareOf(beside);
    share.called.delete(beside);
    const [lane] = share.inFlight + share.called.size < this.#most ? share.waiting : [];
    if (lane !== undefined) {
      share.waiting.delete(lane);
      share.called.add(lane);
    } else if (share.inFlight + share.called.size + share.waiting.size === 0) {
      this.#shares.delete(this.#holderOf(beside));
    }
    return lane;
  }

  #shareOf(lane: L): Share<L> {
    const holder = this.#holderOf(lane);
    const share = this.#shares.get(holder) ?? { inFlight: 0, waiting: new Set(), called: new Set() };
    this.#shares.set(holder, share);
    return share;
  }
}

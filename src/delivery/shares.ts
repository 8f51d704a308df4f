/**
 * How many attempts each holder has in flight, and which lanes wait because their holder has its share: so that what is
 * one account's (C22), or goes to one host, leaves slots to the others, and no more than the share goes out at once.
 */
export class Shares<L, K> {
  readonly #most: number;
  readonly #holderOf: (lane: L) => K;
  readonly #inFlight = new Map<K, number>();
  readonly #waiting = new Map<K, Set<L>>();

  /** @param most the most attempts of one holder */
  constructor(holderOf: (lane: L) => K, most: number) {
    this.#most = most;
    this.#holderOf = holderOf;
  }

  /** Whether one more of a lane may begin; if not, the lane is kept until it may. */
  admits(lane: L): boolean {
    const holder = this.#holderOf(lane);
    if (this.#hasRoom(holder)) return true;
    const waiting = this.#waiting.get(holder) ?? new Set();
    this.#waiting.set(holder, waiting.add(lane));
    return false;
  }

  take(lane: L): void {
    const holder = this.#holderOf(lane);
    this.#inFlight.set(holder, (this.#inFlight.get(holder) ?? 0) + 1);
  }

  giveBack(lane: L): void {
    const holder = this.#holderOf(lane);
    const left = (this.#inFlight.get(holder) ?? 0) - 1;
    if (left > 0) this.#inFlight.set(holder, left);
    else this.#inFlight.delete(holder);
  }

  /** One lane that has waited beside this one and need not any more. */
  nextWaiting(beside: L): L | undefined {
    const holder = this.#holderOf(beside);
    const waiting = this.#waiting.get(holder);
    if (waiting === undefined || !this.#hasRoom(holder)) return undefined;
    const [lane] = waiting;
    if (lane !== undefined) waiting.delete(lane);
    if (waiting.size === 0) this.#waiting.delete(holder);
    return lane;
  }

  #hasRoom(holder: K): boolean {
    return (this.#inFlight.get(holder) ?? 0) < this.#most;
  }
}

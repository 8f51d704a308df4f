/**
 * How many attempts each account has in flight, and which of its lanes wait because it has its share: so that one
 * account, however many of its targets hang, leaves slots to the others (C22).
 */
export class Shares<L extends { readonly accountId: number }> {
  readonly #most: number;
  readonly #inFlight = new Map<number, number>();
  readonly #waiting = new Map<number, Set<L>>();

  /** @param most the most attempts of one account */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a lane's account may begin one more; if not, the lane is kept until it may. */
  admits(lane: L): boolean {
    if (this.#hasRoom(lane.accountId)) return true;
    const waiting = this.#waiting.get(lane.accountId) ?? new Set();
    this.#waiting.set(lane.accountId, waiting.add(lane));
    return false;
  }

  take(accountId: number): void {
    this.#inFlight.set(accountId, (this.#inFlight.get(accountId) ?? 0) + 1);
  }

  giveBack(accountId: number): void {
    const left = (this.#inFlight.get(accountId) ?? 0) - 1;
    if (left > 0) this.#inFlight.set(accountId, left);
    else this.#inFlight.delete(accountId);
  }

  /** One lane that has waited for its account and need not any more. */
  nextWaiting(accountId: number): L | undefined {
    const waiting = this.#waiting.get(accountId);
    if (waiting === undefined || !this.#hasRoom(accountId)) return undefined;
    const [lane] = waiting;
    if (lane !== undefined) waiting.delete(lane);
    if (waiting.size === 0) this.#waiting.delete(accountId);
    return lane;
  }

  #hasRoom(accountId: number): boolean {
    return (this.#inFlight.get(accountId) ?? 0) < this.#most;
  }
}

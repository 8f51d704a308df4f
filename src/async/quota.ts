/**
 * The owner of a used amount. `group` is an account, or all callers without an account; `member` is a user or a client
 * network within the group.
 */
export type QuotaOwner = { readonly group: string | number; readonly member?: string | number };

export type QuotaLimits = {
  /** Maximum amount in use, over all groups. */
  readonly total: number;
  /** Maximum amount in use per group; undefined: no limit. */
  readonly group?: number;
  /** Maximum amount in use per member; undefined: no limit. Member names must be unique over all groups. */
  readonly member?: number;
};

/** Tracks the use of a scarce resource, such as slots or bytes, with limits in total, per group and per member. */
export class Quota {
  readonly #limits: QuotaLimits;
  readonly #usedByGroup = new Map<string | number, number>();
  readonly #usedByMember = new Map<string | number, number>();
  #usedAmount = 0;

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  get usedAmount(): number {
    return this.#usedAmount;
  }

  hasRoom({ group, member }: QuotaOwner, amount = 1): boolean {
    const { total, group: maxPerGroup, member: maxPerMember } = this.#limits;
    if (this.#usedAmount + amount > total) return false;
    if (maxPerGroup !== undefined && (this.#usedByGroup.get(group) ?? 0) + amount > maxPerGroup) return false;
    return (
      maxPerMember === undefined ||
      member === undefined ||
      (this.#usedByMember.get(member) ?? 0) + amount <= maxPerMember
    );
  }

  /** Takes an amount if the limits allow it; returns whether they do. */
  tryTake(owner: QuotaOwner, amount = 1): boolean {
    if (!this.hasRoom(owner, amount)) return false;
    this.add(owner, amount);
    return true;
  }

  /** Adds an amount that is already in use, even if it exceeds a limit. */
  add({ group, member }: QuotaOwner, amount: number): void {
    this.#usedAmount += amount;
    if (this.#limits.group !== undefined) addAmount(this.#usedByGroup, group, amount);
    if (this.#limits.member !== undefined && member !== undefined) addAmount(this.#usedByMember, member, amount);
  }

  /** Returns an amount that was taken or added for the same owner. */
  release(owner: QuotaOwner, amount = 1): void {
    this.add(owner, -amount);
  }
}

function addAmount(amounts: Map<string | number, number>, key: string | number, delta: number): void {
  const amount = (amounts.get(key) ?? 0) + delta;
  if (amount === 0) amounts.delete(key);
  else amounts.set(key, amount);
}

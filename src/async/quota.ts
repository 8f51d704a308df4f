/**
 * The owner of a used amount. `group` is an account, or all callers without an account; `member` is a user or a client
 * network within the group.
 */
export type QuotaOwner = { readonly group: string | number; readonly member?: string | number };

type QuotaLimits = {
  /** Maximum amount in use, over all groups. */
  readonly maxTotal: number;
  /** Maximum amount in use per group; undefined: no limit. */
  readonly maxPerGroup?: number;
  /** Maximum amount in use per member; undefined: no limit. Member names must be unique over all groups. */
  readonly maxPerMember?: number;
};

/** Counts the use of a limited resource, such as slots or bytes, with limits in total, per group and per member. */
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

  hasCapacity({ group, member }: QuotaOwner, amount = 1): boolean {
    const { maxTotal, maxPerGroup, maxPerMember } = this.#limits;
    if (this.#usedAmount + amount > maxTotal) return false;
    if (maxPerGroup !== undefined && (this.#usedByGroup.get(group) ?? 0) + amount > maxPerGroup) return false;
    return (
      maxPerMember === undefined ||
      member === undefined ||
      (this.#usedByMember.get(member) ?? 0) + amount <= maxPerMember
    );
  }

  /** Acquires an amount if the limits allow it. Returns false, and acquires nothing, if they do not. */
  tryAcquire(owner: QuotaOwner, amount = 1): boolean {
    if (!this.hasCapacity(owner, amount)) return false;
    this.addUsage(owner, amount);
    return true;
  }

  /** Adds an amount that is already in use, even if it exceeds a limit. */
  addUsage({ group, member }: QuotaOwner, amount: number): void {
    this.#usedAmount += amount;
    if (this.#limits.maxPerGroup !== undefined) addAmount(this.#usedByGroup, group, amount);
    if (this.#limits.maxPerMember !== undefined && member !== undefined) addAmount(this.#usedByMember, member, amount);
  }

  /** Releases an amount that was acquired or added for the same owner. */
  release(owner: QuotaOwner, amount = 1): void {
    this.addUsage(owner, -amount);
  }
}

function addAmount(amounts: Map<string | number, number>, key: string | number, delta: number): void {
  const amount = (amounts.get(key) ?? 0) + delta;
  if (amount === 0) amounts.delete(key);
  else amounts.set(key, amount);
}

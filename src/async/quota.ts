/**
 * The owner of an amount. `group` is an account, or all callers without an account; `member` is a user or a client
 * network within the group.
 */
export type QuotaOwner = { readonly group: string | number; readonly member?: string | number };

export type QuotaLimits = {
  /** Maximum amount in use, over all groups. */
  readonly total: number;
  /** Maximum amount in use per group; undefined: no limit. */
  readonly group?: number;
  /** Maximum amount in use per member; undefined: no limit. A name must not be used for members of different groups. */
  readonly member?: number;
};

/** Tracks the use of a scarce resource, such as slots or bytes, with limits in total, per group and per member. */
export class Quota {
  readonly #limits: QuotaLimits;
  readonly #groups = new Map<string | number, number>();
  readonly #members = new Map<string | number, number>();
  #used = 0;

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  get used(): number {
    return this.#used;
  }

  hasRoom({ group, member }: QuotaOwner, amount = 1): boolean {
    const { total, group: perGroup, member: perMember } = this.#limits;
    if (this.#used + amount > total) return false;
    if (perGroup !== undefined && (this.#groups.get(group) ?? 0) + amount > perGroup) return false;
    return perMember === undefined || member === undefined || (this.#members.get(member) ?? 0) + amount <= perMember;
  }

  /** Takes an amount if the limits allow it; returns whether they do. */
  take(owner: QuotaOwner, amount = 1): boolean {
    if (!this.hasRoom(owner, amount)) return false;
    this.add(owner, amount);
    return true;
  }

  /** Adds an amount that is already in use, even if it exceeds a limit. */
  add({ group, member }: QuotaOwner, amount: number): void {
    this.#used += amount;
    if (this.#limits.group !== undefined) addAmount(this.#groups, group, amount);
    if (this.#limits.member !== undefined && member !== undefined) addAmount(this.#members, member, amount);
  }

  /** Returns an amount that was taken or added for the same owner. */
  giveBack(owner: QuotaOwner, amount = 1): void {
    this.add(owner, -amount);
  }
}

function addAmount(amounts: Map<string | number, number>, name: string | number, by: number): void {
  const amount = (amounts.get(name) ?? 0) + by;
  if (amount === 0) amounts.delete(name);
  else amounts.set(name, amount);
}

/** The owner of an amount: an account, or all callers without one; and within that a user, or a network. */
export type Owner = { readonly group: string | number; readonly member?: string | number };

export type Limits = {
  readonly total: number;
  /** The most that one group has at a time; undefined limits no group. */
  readonly group?: number;
  /** The most that one member has at a time. Members of different groups have different names. */
  readonly member?: number;
};

/** An amount of something scarce, such as places or bytes, with a limit in total and a share for each owner. */
export class Quota {
  readonly #limits: Limits;
  readonly #groups = new Map<string | number, number>();
  readonly #members = new Map<string | number, number>();
  #used = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get used(): number {
    return this.#used;
  }

  hasRoom({ group, member }: Owner, amount = 1): boolean {
    const { total, group: perGroup, member: perMember } = this.#limits;
    if (this.#used + amount > total) return false;
    if (perGroup !== undefined && (this.#groups.get(group) ?? 0) + amount > perGroup) return false;
    return perMember === undefined || member === undefined || (this.#members.get(member) ?? 0) + amount <= perMember;
  }

  /** Takes an amount if there is room for it; answers whether there was. */
  take(owner: Owner, amount = 1): boolean {
    if (!this.hasRoom(owner, amount)) return false;
    this.add(owner, amount);
    return true;
  }

  /** Counts an amount that is in use already, be there room or not. */
  add({ group, member }: Owner, amount: number): void {
    this.#used += amount;
    if (this.#limits.group !== undefined) change(this.#groups, group, amount);
    if (this.#limits.member !== undefined && member !== undefined) change(this.#members, member, amount);
  }

  /** Gives back what was taken or added under the same owner. */
  give(owner: Owner, amount = 1): void {
    this.add(owner, -amount);
  }
}

function change(amounts: Map<string | number, number>, name: string | number, by: number): void {
  const amount = (amounts.get(name) ?? 0) + by;
  if (amount === 0) amounts.delete(name);
  else amounts.set(name, amount);
}

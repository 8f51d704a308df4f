import type { AtCommit, Tx } from './store.ts';

/** What writes have left to be done once for all of them, as the last thing before their commit. */
export class BeforeCommit {
  #left: Map<AtCommit<never>, unknown[]> | undefined;

  /** One more thing. */
  add<Item>(act: AtCommit<Item>, item: Item): void {
    this.#left ??= new Map();
    const items = this.#left.get(act as AtCommit<never>);
    if (items === undefined) this.#left.set(act as AtCommit<never>, [item]);
    else items.push(item);
  }

  /** All that another write of the same commit has left. */
  addAll(other: BeforeCommit): void {
    for (const [act, items] of other.#left ?? []) for (const item of items) this.add(act as AtCommit<unknown>, item);
  }

  /** Does it; all of it is sent when this returns. */
  async act(tx: Tx): Promise<void> {
    await Promise.all([...(this.#left ?? [])].map(([act, items]) => (act as AtCommit<unknown>)(tx, items)));
  }
}

import type { AtCommit, Tx } from './store.ts';

/** The `beforeCommit` items of a write or of a commit group, by action. */
export class BeforeCommit {
  #items: Map<AtCommit<never>, unknown[]> | undefined;

  add<Item>(act: AtCommit<Item>, item: Item): void {
    this.#items ??= new Map();
    const items = this.#items.get(act as AtCommit<never>);
    if (items === undefined) this.#items.set(act as AtCommit<never>, [item]);
    else items.push(item);
  }

  /** Merges the items of another write of the same commit. */
  addAll(other: BeforeCommit): void {
    for (const [act, items] of other.#items ?? []) for (const item of items) this.add(act as AtCommit<unknown>, item);
  }

  /** Runs each action once with its items. */
  async act(tx: Tx): Promise<void> {
    await Promise.all([...(this.#items ?? [])].map(([act, items]) => (act as AtCommit<unknown>)(tx, items)));
  }
}

/** A work budget in steps, optionally part of a larger one: `take` consumes from both. */
export class Steps {
  readonly #parent: Steps | undefined;
  #left: number;

  constructor(max: number, parent?: Steps) {
    this.#left = max;
    this.#parent = parent;
  }

  get areSpent(): boolean {
    return this.#left < 0;
  }

  /** Consumes steps; false if this budget or its parent is used up. */
  readonly take = (count: number): boolean => {
    this.#left -= count;
    const isWithin = this.#parent?.take(count) ?? true;
    return isWithin && this.#left >= 0;
  };
}

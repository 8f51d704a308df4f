/** A limit on work: how many steps it may take, with a part of that limit for each piece of it. */
export class Steps {
  readonly #whole: Steps | undefined;
  #left: number;

  constructor(most: number, whole?: Steps) {
    this.#left = most;
    this.#whole = whole;
  }

  get areSpent(): boolean {
    return this.#left < 0;
  }

  /** Takes so many; false when there are none left. */
  readonly take = (count: number): boolean => {
    this.#left -= count;
    const isWithin = this.#whole?.take(count) ?? true;
    return isWithin && this.#left >= 0;
  };
}

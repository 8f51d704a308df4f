/** Single flight: concurrent callers with the same key share one run, such as a query. Results are not cached. */
export class SingleFlight<K, V> {
  readonly #runs = new Map<K, Promise<V>>();

  /**
   * Starts a run, or returns the promise of the current run of this key.
   *
   * @param onResult called with the result before the callers get it, but not if the run was forgotten
   */
  run(key: K, work: () => Promise<V>, onResult: (result: V) => void = () => undefined): Promise<V> {
    const currentRun = this.#runs.get(key);
    if (currentRun !== undefined) return currentRun;
    const isCurrent = () => this.#runs.get(key) === newRun;
    const newRun: Promise<V> = work()
      .then((result) => {
        if (isCurrent()) onResult(result);
        return result;
      })
      .finally(() => {
        if (isCurrent()) this.#runs.delete(key);
      });
    this.#runs.set(key, newRun);
    return newRun;
  }

  /** Later callers start new runs: what the current ones have read may be outdated. */
  forgetRuns(): void {
    this.#runs.clear();
  }

  /** Resolves when the current runs have ended, also if some failed. */
  async waitForRuns(): Promise<void> {
    await Promise.allSettled(this.#runs.values());
  }
}

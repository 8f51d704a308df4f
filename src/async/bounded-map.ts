/**
 * A map with a maximum number of entries, for caches and counters by caller. When it is full, the entry that was set
 * longest ago is evicted. `set` makes an entry the newest one, so an entry that is set at each use is kept (LRU).
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    if (this.size >= this.#maxSize) this.#evictOldest();
    return super.set(key, value);
  }

  #evictOldest(): void {
    for (const oldestKey of this.keys()) {
      this.delete(oldestKey);
      return;
    }
  }
}

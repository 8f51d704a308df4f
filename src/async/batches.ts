/** Splits a list into batches of at most `maxLength` items, in order. An empty list has no batches. */
export function* splitIntoBatches<Item>(items: readonly Item[], maxLength: number): Generator<Item[], void> {
  for (let start = 0; start < items.length; start += maxLength) yield items.slice(start, start + maxLength);
}

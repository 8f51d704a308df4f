/** Beside the records, so that they are what the service answered, and gone when they are. */
const etags = new WeakMap<object, string>();

/** Keeps what an answer says of its record. */
export function keepEtag(record: object, headers: Headers): void {
  const etag = headers.get('etag');
  if (etag !== null) etags.set(record, etag);
}

/**
 * The `ETag` of a record as it was read by `get`, or answered by `create` and `update`: for `ifMatch`, so that a change
 * is made only if nobody else was faster. X5.
 *
 * ```ts
 * const event = await carillon.events.get('7');
 * await carillon.events.update('7', { event_name: 'Later' }, { ifMatch: etagOf(event) });
 * ```
 *
 * @throws TypeError for what no such call gave: a record of a list, or a copy (`{ ...record }`), has none
 */
export function etagOf(record: object): string {
  const etag = etags.get(record);
  if (etag === undefined) throw new TypeError('This is no record as get, create or update gave it: it has no ETag.');
  return etag;
}

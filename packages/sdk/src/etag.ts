/** ETags by record: the records stay as the service returned them, and an ETag is collected with its record. */
const etags = new WeakMap<object, string>();

/** Stores the ETag of a record. */
export function keepEtag(record: object, headers: Headers): void {
  const etag = headers.get('etag');
  if (etag !== null) etags.set(record, etag);
}

/**
 * The `ETag` of a record that `get`, `create` or `update` returned. As `ifMatch` it prevents overwriting a change that
 * someone else has made in the meantime. X5.
 *
 * @throws TypeError for any other object: a record of a list or a copy (`{ ...record }`) has no ETag
 *
 * @example
 * ```ts
 * const event = await carillon.events.get('7');
 * await carillon.events.update('7', { event_name: 'Later' }, { ifMatch: etagOf(event) });
 * ```
 */
export function etagOf(record: object): string {
  const etag = etags.get(record);
  if (etag === undefined) throw new TypeError('The object has no ETag: it was not returned by get, create or update.');
  return etag;
}

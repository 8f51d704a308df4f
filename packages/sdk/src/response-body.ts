import type { Page } from './api-types.ts';
import { CarillonError } from './errors.ts';
import { type ApiResponse, createUnexpectedResponseError } from './transport.ts';

/**
 * Returns the record in `{ data }`, and stores its `ETag`. Only the envelope is validated, not the fields of the record
 * (C8).
 */
export function recordOf<T>({ status, headers, body }: ApiResponse): T {
  const data = fieldOf(body, 'data');
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw createUnexpectedResponseError(status, `The response (${status}) contains no record.`);
  }
  rememberEtag(data, headers);
  return data as T;
}

/**
 * Returns a created record with its secret. Throws `secret_gone` for a replayed response, which does not contain the
 * secret (X4).
 *
 * @param secretField name of the field that contains the secret
 */
export function recordWithSecretOf<T extends object>(response: ApiResponse, secretField: keyof T & string): T {
  const record = recordOf<T>(response);
  if (record[secretField] !== undefined) return record;
  const recordJson = JSON.stringify(record);
  const message = `The record was created, but the response with its ${secretField} was lost: create another one. ${recordJson}`;
  throw new CarillonError({ code: 'secret_gone', status: response.status, message });
}

/** Returns the page of a list in `{ paging, data }` (C7). */
export function pageOf<T>(response: ApiResponse): Page<T> {
  const { status, body } = response;
  const data = fieldOf(body, 'data');
  const paging = fieldOf(body, 'paging');
  const [offset, limit, total_records] = ['offset', 'limit', 'total_records'].map((name) => fieldOf(paging, name));
  const isPage = Array.isArray(data) && [offset, limit, total_records].every(Number.isInteger);
  if (!isPage) throw createUnexpectedResponseError(status, `The response (${status}) contains no list.`);
  const nextPage = parseNextPageLink(response);
  return nextPage === undefined ? (body as Page<T>) : { ...(body as Page<T>), next: nextPage.after };
}

/** Returns the parameters of the next page, from the `Link` header; undefined on the last page (C7). */
export function parseNextPageLink({
  headers,
}: ApiResponse): { offset: number; limit: number; after: string } | undefined {
  const [, url] = /<([^<>]*)>; *rel="next"/.exec(headers.get('link') ?? '') ?? [];
  if (url === undefined) return undefined;
  const query = new URL(url, 'http://any').searchParams;
  return { offset: Number(query.get('offset')), limit: Number(query.get('limit')), after: query.get('after') ?? '' };
}

/** Returns a field of an untrusted value; `undefined` if the field is absent. */
export function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}

/** ETags by record. A weak map leaves the records unchanged, and lets them be garbage-collected. */
const etagsByRecord = new WeakMap<object, string>();

/** Stores the ETag of a record. */
export function rememberEtag(record: object, headers: Headers): void {
  const etag = headers.get('etag');
  if (etag !== null) etagsByRecord.set(record, etag);
}

/**
 * Returns the `ETag` of a record that `get`, `create` or `update` returned. As `ifMatch`, it prevents overwriting a
 * change that was made in the meantime (X5).
 *
 * @throws TypeError for any other object; a record of a list or a copy (`{ ...record }`) has no ETag
 *
 * @example
 * ```ts
 * const event = await carillon.events.get('7');
 * await carillon.events.update('7', { event_name: 'Later' }, { ifMatch: etagOf(event) });
 * ```
 */
export function etagOf(record: object): string {
  const etag = etagsByRecord.get(record);
  if (etag === undefined) throw new TypeError('The object has no ETag: it was not returned by get, create or update.');
  return etag;
}

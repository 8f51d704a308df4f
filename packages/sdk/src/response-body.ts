import type { Page } from './api-types.ts';
import { CarillonError } from './errors.ts';
import { type ApiResponse, unexpectedResponse } from './transport.ts';

/**
 * Returns the record in `{ data }`, and stores its `ETag`. Only the envelope is validated, not the fields of the record
 * (C8).
 */
export function recordOf<T>({ status, headers, body }: ApiResponse): T {
  const data = fieldOf(body, 'data');
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw unexpectedResponse(status, `The response (${status}) contains no record.`);
  }
  rememberEtag(data, headers);
  return data as T;
}

/**
 * Returns a created record with a secret. Throws `secret_gone` for a replayed response, which does not contain the
 * secret (X4).
 */
export function withSecret<T extends object>(answer: ApiResponse, secret: keyof T & string): T {
  const record = recordOf<T>(answer);
  if (record[secret] !== undefined) return record;
  const json = JSON.stringify(record);
  const message = `The record was created, but the response with its ${secret} was lost: create another one. ${json}`;
  throw new CarillonError({ code: 'secret_gone', status: answer.status, message });
}

/** Returns the page of a list in `{ paging, data }` (C7). */
export function pageOf<T>(answer: ApiResponse): Page<T> {
  const { status, body } = answer;
  const data = fieldOf(body, 'data');
  const paging = fieldOf(body, 'paging');
  const [offset, limit, total_records] = ['offset', 'limit', 'total_records'].map((name) => fieldOf(paging, name));
  const isPage = Array.isArray(data) && [offset, limit, total_records].every(Number.isInteger);
  if (!isPage) throw unexpectedResponse(status, `The response (${status}) contains no list.`);
  const nextPage = nextPageLink(answer);
  return nextPage === undefined ? (body as Page<T>) : { ...(body as Page<T>), next: nextPage.after };
}

/** Returns the parameters of the next page, from the `Link` header; undefined on the last page (C7). */
export function nextPageLink({ headers }: ApiResponse): { offset: number; limit: number; after: string } | undefined {
  const [, url] = /<([^<>]*)>; *rel="next"/.exec(headers.get('link') ?? '') ?? [];
  if (url === undefined) return undefined;
  const query = new URL(url, 'http://any').searchParams;
  return { offset: Number(query.get('offset')), limit: Number(query.get('limit')), after: query.get('after') ?? '' };
}

/** Returns a field of an untrusted value; `undefined` if the field is absent. */
export function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}

/** ETags by record. The map does not change the records, and does not keep them from being garbage-collected. */
const etags = new WeakMap<object, string>();

/** Stores the ETag of a record. */
export function rememberEtag(record: object, headers: Headers): void {
  const etag = headers.get('etag');
  if (etag !== null) etags.set(record, etag);
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
  const etag = etags.get(record);
  if (etag === undefined) throw new TypeError('The object has no ETag: it was not returned by get, create or update.');
  return etag;
}

import type { Page } from './api-types.ts';
import { CarillonError } from './errors.ts';
import { keepEtag } from './etag.ts';
import { type Answer, unexpected } from './transport.ts';

/** The record in `{ data }`; its `ETag` is kept. Its fields are the service's promise, the envelope is checked. C8. */
export function recordOf<T>({ status, headers, body }: Answer): T {
  const data = fieldOf(body, 'data');
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw unexpected(status, `The answer is ${status} and holds no record.`);
  }
  keepEtag(data, headers);
  return data as T;
}

/** The record of what shows its secret in the first answer alone: one that was kept and is given again is without it. X4. */
export function issuedOf<T extends object>(answer: Answer, secret: keyof T & string): T {
  const record = recordOf<T>(answer);
  if (record[secret] !== undefined) return record;
  const what = JSON.stringify(record);
  const message = `It was issued, but the answer that showed its ${secret} was lost: issue another. ${what}`;
  throw new CarillonError({ code: 'secret_gone', status: answer.status, message });
}

/** The list in `{ paging, data }`. C7. */
export function pageOf<T>(answer: Answer): Page<T> {
  const { status, body } = answer;
  const data = fieldOf(body, 'data');
  const paging = fieldOf(body, 'paging');
  const [offset, limit, total_records] = ['offset', 'limit', 'total_records'].map((name) => fieldOf(paging, name));
  const isPage = Array.isArray(data) && [offset, limit, total_records].every(Number.isInteger);
  if (!isPage) throw unexpected(status, `The answer is ${status} and holds no list.`);
  const behind = behindPage(answer);
  return behind === undefined ? (body as Page<T>) : { ...(body as Page<T>), next: behind.after };
}

/** What the page behind this one is asked for with, as its `Link` says; undefined behind the last one. C7. */
export function behindPage({ headers }: Answer): { offset: number; limit: number; after: string } | undefined {
  const [, address] = /<([^<>]*)>; *rel="next"/.exec(headers.get('link') ?? '') ?? [];
  if (address === undefined) return undefined;
  const said = new URL(address, 'http://any').searchParams;
  return { offset: Number(said.get('offset')), limit: Number(said.get('limit')), after: said.get('after') ?? '' };
}

/** A field of something that came over the wire; absent is `undefined`. */
export function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}

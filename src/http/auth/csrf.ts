import type { IncomingMessage } from 'node:http';
import { Problem } from '../../problems.ts';
import { headerLines } from '../server/headers.ts';

/** The part of a request that authentication reads. */
export type RequestHeaders = Pick<IncomingMessage, 'rawHeaders' | 'method'>;

/**
 * CSRF protection: rejects requests that do not come from a page of the console itself. Browsers send `Sec-Fetch-Site`,
 * which pages can neither set nor remove. Old browsers, and all browsers over plain http to another host, omit it, but
 * send `Origin` with every request that changes something.
 */
export function rejectCrossOrigin(baseUrl: () => string): (request: RequestHeaders) => Problem | undefined {
  return (request) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (isSameOrigin(request, isReading, baseUrl)) return undefined;
    const detail = `The console accepts calls only from its own pages. Open it at ${baseUrl()}/.`;
    return new Problem('cross_origin', { detail });
  };
}

function isSameOrigin(request: RequestHeaders, isReading: boolean, baseUrl: () => string): boolean {
  const [site, ...moreSites] = headerLines(request, 'sec-fetch-site');
  if (moreSites.length > 0) return false;
  // `none`: the user entered the address. That may read, but not change anything.
  if (site !== undefined) return site === 'same-origin' || (isReading && site === 'none');
  const [origin, ...moreOrigins] = headerLines(request, 'origin');
  // Browsers omit `Origin` for same-origin reads.
  if (origin === undefined) return isReading;
  return moreOrigins.length === 0 && origin === new URL(baseUrl()).origin;
}

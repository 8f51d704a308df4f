import type { IncomingMessage } from 'node:http';
import { Problem } from '../../problems.ts';
import { headerLines } from '../server/headers.ts';

/** What a door sees of a request before it opens. */
export type RequestHeaders = Pick<IncomingMessage, 'rawHeaders' | 'method'>;

/**
 * Refuses what does not come from a page of the console itself. Browsers say where a request comes from in
 * `Sec-Fetch-Site`, and pages can neither set nor hide it; those that do not send it, since they are old or the address
 * is plain http, send `Origin` with everything that changes something.
 */
export function rejectCrossOrigin(baseUrl: () => string): (request: RequestHeaders) => Problem | undefined {
  return (request) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (isOwn(request, isReading, baseUrl)) return undefined;
    const detail = `The console takes calls from its own pages alone. Open it at ${baseUrl()}/.`;
    return new Problem('cross_origin', { detail });
  };
}

function isOwn(request: RequestHeaders, isReading: boolean, baseUrl: () => string): boolean {
  const [site, ...moreSites] = headerLines(request, 'sec-fetch-site');
  if (moreSites.length > 0) return false;
  // An address that somebody entered by hand can be read, and changes nothing.
  if (site !== undefined) return site === 'same-origin' || (isReading && site === 'none');
  const [origin, ...moreOrigins] = headerLines(request, 'origin');
  // A page that reads from its own origin sends none.
  if (origin === undefined) return isReading;
  return moreOrigins.length === 0 && origin === new URL(baseUrl()).origin;
}

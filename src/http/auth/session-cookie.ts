import type { IncomingMessage } from 'node:http';
import { Problem } from '../../problems.ts';
import { readHeaderValues } from '../server/cors.ts';

/**
 * The session cookie, `HttpOnly` and `SameSite=Strict`. Under https, the `__Host-` prefix makes the browser accept the
 * cookie only from this host over https. Under http, the port is part of the cookie's name, because cookies are shared
 * between ports of a host.
 */
export class SessionCookie {
  readonly #baseUrl: () => string;

  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl;
  }

  /** Returns the session token in the cookie; undefined if the cookie is missing or sent more than once. */
  readToken(request: Pick<IncomingMessage, 'rawHeaders'>): string | undefined {
    const { name } = this.#computeNameAndAttributes();
    const cookieValues = readHeaderValues(request, 'cookie')
      .flatMap((headerValue) => headerValue.split(';'))
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1));
    return cookieValues.length === 1 ? cookieValues[0] : undefined;
  }

  /** Returns the `Set-Cookie` header that stores a token in the browser. */
  createCookieHeader(token: string, maxAgeMs: number): string {
    return this.#serializeCookie(token, Math.floor(maxAgeMs / 1_000));
  }

  /** Returns the `Set-Cookie` header that removes the cookie from the browser. */
  createDeletionHeader(): string {
    return this.#serializeCookie('', 0);
  }

  #serializeCookie(value: string, maxAgeS: number): string {
    const { name, attributes } = this.#computeNameAndAttributes();
    return [`${name}=${value}`, `Max-Age=${maxAgeS}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', ...attributes].join(
      '; ',
    );
  }

  #computeNameAndAttributes(): { name: string; attributes: readonly string[] } {
    const { protocol, port } = new URL(this.#baseUrl());
    if (protocol === 'https:') return { name: '__Host-carillon', attributes: ['Secure'] };
    return { name: `carillon_${port === '' ? '80' : port}`, attributes: [] };
  }
}

/** The part of a request that authentication reads. */
export type RequestHeaders = Pick<IncomingMessage, 'rawHeaders' | 'method'>;

/**
 * Creates the CSRF check, which rejects requests that do not come from a page of the console itself. Browsers send
 * `Sec-Fetch-Site`, which pages can neither set nor remove. Old browsers, and all browsers over plain http to another
 * host, omit this header, but send `Origin` with every request that changes something.
 */
export function createCrossOriginCheck(baseUrl: () => string): (request: RequestHeaders) => Problem | undefined {
  return (request) => {
    const isReadRequest = request.method === 'GET' || request.method === 'HEAD';
    if (isSameOrigin(request, isReadRequest, baseUrl)) return undefined;
    const detail = `The console accepts calls only from its own pages. Open it at ${baseUrl()}/.`;
    return new Problem('cross_origin', { detail });
  };
}

function isSameOrigin(request: RequestHeaders, isReadRequest: boolean, baseUrl: () => string): boolean {
  const [site, ...repeatedSites] = readHeaderValues(request, 'sec-fetch-site');
  if (repeatedSites.length > 0) return false;
  // `none` means that the user entered the address. Such a request may read, but not change anything.
  if (site !== undefined) return site === 'same-origin' || (isReadRequest && site === 'none');
  const [origin, ...repeatedOrigins] = readHeaderValues(request, 'origin');
  // Browsers omit `Origin` for same-origin reads.
  if (origin === undefined) return isReadRequest;
  return repeatedOrigins.length === 0 && origin === new URL(baseUrl()).origin;
}

import type { IncomingMessage } from 'node:http';
import type { Caller, Permission } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import { isHeaderNamed } from '../server/cors.ts';

/**
 * The result of a caller lookup: the caller, or undefined for invalid credentials. The result does not say which part
 * of the credentials is wrong, so that a client cannot guess them one by one (C1). Only the lookup of a caller that is
 * not cached returns a promise; nearly all callers are cached.
 */
export type CallerLookupResult = Caller | undefined | Promise<Caller | undefined>;

export type FindCaller = (request: Pick<IncomingMessage, 'rawHeaders'>) => CallerLookupResult;

/** Looks up the caller by API key and domain. The domain is in lower case. */
export type AuthenticateKey = (key: string, domain: string) => CallerLookupResult;

/**
 * Checks whether an authenticated caller may still act. It runs inside the transaction of a write, because access may
 * have been revoked while a body arrived slowly or a name was resolved (C1, C23).
 */
export type Reauthorize = (tx: Tx, caller: Caller) => Promise<boolean>;

/** Returns the lookup for callers of the API. It requires the headers `key` and `domain`, each exactly once (C1). */
export function createFindCallerByKey(authenticate: AuthenticateKey): FindCaller {
  return (request) => {
    const { key, domain } = readCredentials(request);
    return key === undefined || domain === undefined ? undefined : authenticate(key, domain);
  };
}

/** Reads the headers `key` and `domain`, the latter in lower case; undefined for a missing or repeated header. */
export function readCredentials(request: Pick<IncomingMessage, 'rawHeaders'>): {
  readonly key: string | undefined;
  readonly domain: string | undefined;
} {
  return { key: readSingleHeader(request, 'key'), domain: readSingleHeader(request, 'domain')?.toLowerCase() };
}

/**
 * Returns the value of a header that is sent exactly once, otherwise undefined. It reads `rawHeaders`, because Node's
 * `headers` joins the values of a repeated header.
 */
function readSingleHeader(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string | undefined {
  let headerValue: string | undefined;
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (!isHeaderNamed(request.rawHeaders[index], name)) continue;
    if (headerValue !== undefined) return undefined;
    headerValue = request.rawHeaders[index + 1];
  }
  return headerValue;
}

/** Throws `not_permitted` if the caller lacks the permission (C2). */
export function requirePermission(caller: Caller, permission: Permission | undefined): void {
  if (permission === undefined || caller.permissions.has(permission)) return;
  const sentenceSubject = caller.keyId === 0 ? 'Your role' : 'This key';
  throw new Problem('not_permitted', { detail: `${sentenceSubject} lacks the permission ${permission}.` });
}

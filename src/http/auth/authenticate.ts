import type { IncomingMessage } from 'node:http';
import type { Caller, Permission } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import { isHeaderNamed } from '../server/cors.ts';

/**
 * The result of a lookup: the caller, or undefined for any invalid credentials, so that a probe cannot find out which
 * part is wrong (C1). It is synchronous if the caller is cached, which is nearly always the case.
 */
export type CallerLookup = Caller | undefined | Promise<Caller | undefined>;

export type FindCaller = (request: Pick<IncomingMessage, 'rawHeaders'>) => CallerLookup;

/** Looks up the caller by API key and domain. The domain is in lower case. */
export type AuthenticateKey = (key: string, domain: string) => CallerLookup;

/**
 * Checks whether an authenticated caller may still act. It runs inside the transaction of a write, because access may
 * have been revoked while a body arrived slowly or a name was resolved (C1, C23).
 */
export type Reauthorize = (tx: Tx, caller: Caller) => Promise<boolean>;

/** Returns the authentication of the API, which requires the headers `key` and `domain`, each exactly once (C1). */
export function findCallerByKey(authenticate: AuthenticateKey): FindCaller {
  return (request) => {
    const { key, domain } = credentialsIn(request);
    return key === undefined || domain === undefined ? undefined : authenticate(key, domain);
  };
}

/** The headers `key` and `domain`; undefined if a header is missing or repeated. `domain` is in lower case. */
export function credentialsIn(request: Pick<IncomingMessage, 'rawHeaders'>): {
  readonly key: string | undefined;
  readonly domain: string | undefined;
} {
  return { key: singleHeader(request, 'key'), domain: singleHeader(request, 'domain')?.toLowerCase() };
}

/**
 * The value of a header that is sent exactly once; otherwise undefined. Node's `headers` would join repeated headers.
 */
function singleHeader(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (!isHeaderNamed(request.rawHeaders[index], name)) continue;
    if (value !== undefined) return undefined;
    value = request.rawHeaders[index + 1];
  }
  return value;
}

/** Throws `not_permitted` if the caller lacks the permission (C2). */
export function requirePermission(caller: Caller, permission: Permission | undefined): void {
  if (permission === undefined || caller.permissions.has(permission)) return;
  const subject = caller.keyId === 0 ? 'Your role' : 'This key';
  throw new Problem('not_permitted', { detail: `${subject} lacks the permission ${permission}.` });
}

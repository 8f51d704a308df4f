import type { IncomingMessage } from 'node:http';
import type { Caller, Permission } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import { isNamed } from '../server/headers.ts';

/**
 * The caller of a request, or undefined: one answer for everything that may be wrong, so that nothing can be probed (C1).
 * At once for whoever is known from before, as nearly all are.
 */
export type CallerLookup = Caller | undefined | Promise<Caller | undefined>;

/** Finds the caller of a request. */
export type FindCaller = (request: Pick<IncomingMessage, 'rawHeaders'>) => CallerLookup;

/** Looks a key and a domain up. `domain` is in lower case. */
export type Authenticate = (key: string, domain: string) => CallerLookup;

/**
 * Whether a caller, once found, may still act: asked again inside the transaction of a write, since a slow body or a
 * slow name can lie between (C1, C23).
 */
export type Reauthorize = (tx: Tx, caller: Caller) => Promise<boolean>;

/** The first door's way: the headers `key` and `domain`, each exactly once (C1). */
export function callerByKey(authenticate: Authenticate): FindCaller {
  return (request) => {
    const { key, domain } = credentialsIn(request);
    return key === undefined || domain === undefined ? undefined : authenticate(key, domain);
  };
}

/** What a request shows to be let in, each where it stands exactly once; `domain` in lower case. */
export function credentialsIn(request: Pick<IncomingMessage, 'rawHeaders'>): {
  readonly key: string | undefined;
  readonly domain: string | undefined;
} {
  return { key: singleHeader(request, 'key'), domain: singleHeader(request, 'domain')?.toLowerCase() };
}

/** The value of a header that stands exactly once; Node would join repeated ones. */
function singleHeader(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (!isNamed(request.rawHeaders[index], name)) continue;
    if (value !== undefined) return undefined;
    value = request.rawHeaders[index + 1];
  }
  return value;
}

/** C2: a key without the permission is refused with its own code, since the caller is known. */
export function requirePermission(caller: Caller, permission: Permission | undefined): void {
  if (permission === undefined || caller.permissions.has(permission)) return;
  const who = caller.keyId === 0 ? 'Your role' : 'This key';
  throw new Problem('not_permitted', { detail: `${who} lacks the permission ${permission}.` });
}

import type { IncomingMessage } from 'node:http';
import type { Caller, Permission } from '../../permissions.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import type { Route, RouteInput } from '../routes/route.ts';
import { isHeaderNamed } from '../server/cors.ts';
import { createCrossOriginCheck, type RequestHeaders, type SessionCookie } from './session-cookie.ts';

/**
 * The result of a caller lookup: the caller, or undefined for invalid credentials. The result does not say which part
 * of the credentials is wrong, so that a client cannot guess them one by one (C1). Only the lookup of a caller that is
 * not cached returns a promise; nearly all callers are cached.
 */
export type CallerLookupResult = Caller | undefined | Promise<Caller | undefined>;

type FindCaller = (request: Pick<IncomingMessage, 'rawHeaders'>) => CallerLookupResult;

/** Looks up the caller by API key and domain. The domain is in lower case. */
export type AuthenticateKey = (key: string, domain: string) => CallerLookupResult;

/**
 * Checks whether an authenticated caller may still act. It runs inside the transaction of a write, because access may
 * have been revoked while a body arrived slowly or a name was resolved (C1, C23).
 */
export type Reauthorize = (tx: Tx, caller: Caller) => Promise<boolean>;

/** Routes under one prefix with one way to authenticate. */
export type RouteGroup = {
  readonly prefix: string;
  readonly routes: readonly Route[];
  /** Checks a request before authentication. Returns the problem with which the request is rejected, or undefined. */
  findRequestProblem(request: RequestHeaders): Problem | undefined;
  readonly findCaller: FindCaller;
  readonly reauthorize: Reauthorize;
  /** Problem code for unauthenticated requests. */
  readonly unauthenticatedProblemCode: ProblemCode;
  /** The value of the `WWW-Authenticate` header, which every 401 needs (RFC 9110, 11.6.1). */
  readonly challenge: string;
  /** Headers that are added to every response of the group. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /**
   * Called after a single record was fetched, with the path of the route and the ids in the URL. The response does not
   * wait for the call.
   */
  readonly onRecordFetched?: (caller: Caller, path: string, ids: RouteInput['ids']) => void;
};

/** The `WWW-Authenticate` challenge of the API. */
export const KEY_CHALLENGE = 'Key realm="carillon"';

/** Creates the route group of the API. The headers `key` and `domain` authenticate a caller; cookies are ignored. */
export function createApiRouteGroup(
  apiRoutes: readonly Route[],
  keyAuthentication: { authenticate: AuthenticateKey; reauthorize: Reauthorize },
  onRecordFetched: NonNullable<RouteGroup['onRecordFetched']>,
): RouteGroup {
  return {
    prefix: '/v2',
    routes: apiRoutes,
    findRequestProblem: () => undefined,
    findCaller: createFindCallerByKey(keyAuthentication.authenticate),
    reauthorize: keyAuthentication.reauthorize,
    unauthenticatedProblemCode: 'unauthorized',
    challenge: KEY_CHALLENGE,
    responseHeaders: {},
    onRecordFetched,
  };
}

/** Looks up the caller of a session token. */
export type AuthenticateSession = (token: string) => CallerLookupResult;

/**
 * Headers for responses of the console's API: a browser must not cache them, render them as a page, run them as a
 * script, or let other sites read them.
 */
const CONSOLE_API_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/**
 * Creates the route group of the console's API. It accepts only same-origin requests, and the session cookie
 * authenticates the caller; keys are ignored.
 */
export function createConsoleRouteGroup(
  consoleRoutes: readonly Route[],
  sessionAuthentication: { authenticate: AuthenticateSession; reauthorize: Reauthorize },
  { cookie, baseUrl }: { cookie: SessionCookie; baseUrl: () => string },
): RouteGroup {
  return {
    prefix: '/console/api',
    routes: consoleRoutes,
    findRequestProblem: createCrossOriginCheck(baseUrl),
    findCaller(request) {
      const token = cookie.readToken(request);
      return token === undefined ? undefined : sessionAuthentication.authenticate(token);
    },
    reauthorize: sessionAuthentication.reauthorize,
    unauthenticatedProblemCode: 'signed_out',
    challenge: 'Session realm="carillon"',
    responseHeaders: CONSOLE_API_HEADERS,
  };
}

/**
 * Authenticates a request to a route group. Returns the caller, synchronously if the caller is cached; throws the
 * problem with which the request is rejected.
 */
export function authenticateRequest(group: RouteGroup, request: RequestHeaders): Caller | Promise<Caller> {
  const problem = group.findRequestProblem(request);
  if (problem !== undefined) throw problem;
  const lookupResult = group.findCaller(request);
  return lookupResult instanceof Promise
    ? lookupResult.then((caller) => requireFoundCaller(group, caller))
    : requireFoundCaller(group, lookupResult);
}

function requireFoundCaller(group: RouteGroup, caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Problem(group.unauthenticatedProblemCode);
  return caller;
}

/** Returns the lookup for callers of the API. It requires the headers `key` and `domain`, each exactly once (C1). */
function createFindCallerByKey(authenticate: AuthenticateKey): FindCaller {
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

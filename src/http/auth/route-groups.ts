import type { Caller } from '../../permissions.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import type { Route, RouteInput } from '../routes/route.ts';
import {
  type AuthenticateKey,
  type CallerLookupResult,
  createFindCallerByKey,
  type FindCaller,
  type Reauthorize,
} from './authenticate.ts';
import { createCrossOriginCheck, type RequestHeaders, type SessionCookie } from './session-cookie.ts';

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

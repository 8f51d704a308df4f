import type { Caller } from '../../permissions.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import type { Route, RouteInput } from '../routes/route.ts';
import {
  type AuthenticateKey,
  type CallerLookup,
  type FindCaller,
  findCallerByKey,
  type Reauthorize,
} from './authenticate.ts';
import { type RequestHeaders, rejectCrossOrigin, type SessionCookie } from './session-cookie.ts';

/** Routes under one prefix with one way to authenticate. */
export type RouteGroup = {
  readonly prefix: string;
  readonly routes: readonly Route[];
  /** Checks a request before authentication. Returns the problem with which the request is rejected, or undefined. */
  checkRequest(request: RequestHeaders): Problem | undefined;
  readonly findCaller: FindCaller;
  readonly reauthorize: Reauthorize;
  /** Problem code for unauthenticated requests. */
  readonly unauthenticatedProblem: ProblemCode;
  /** The value of the `WWW-Authenticate` header, which every 401 needs (RFC 9110, 11.6.1). */
  readonly challenge: string;
  /** Headers that are added to every response of the group. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Called after a single record was fetched, with the path of the route and the ids in the URL. Its result is not
   * awaited.
   */
  readonly onFetched?: (caller: Caller, path: string, ids: RouteInput['ids']) => void;
};

/** The `WWW-Authenticate` challenge of the API. */
export const KEY_CHALLENGE = 'Key realm="carillon"';

/** The route group of the API: callers are authenticated by the headers `key` and `domain`. Cookies are ignored. */
export function apiRouteGroup(
  rows: readonly Route[],
  keys: { authenticate: AuthenticateKey; confirm: Reauthorize },
  onFetched: NonNullable<RouteGroup['onFetched']>,
): RouteGroup {
  return {
    prefix: '/v2',
    routes: rows,
    checkRequest: () => undefined,
    findCaller: findCallerByKey(keys.authenticate),
    reauthorize: keys.confirm,
    unauthenticatedProblem: 'unauthorized',
    challenge: KEY_CHALLENGE,
    headers: {},
    onFetched,
  };
}

/** Looks up the caller of a session token. */
export type AuthenticateSession = (token: string) => CallerLookup;

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
 * The route group of the console's API: same-origin requests, authenticated by the session cookie. Keys are ignored.
 */
export function consoleRouteGroup(
  rows: readonly Route[],
  sessions: { authenticate: AuthenticateSession; confirm: Reauthorize },
  { cookie, baseUrl }: { cookie: SessionCookie; baseUrl: () => string },
): RouteGroup {
  return {
    prefix: '/console/api',
    routes: rows,
    checkRequest: rejectCrossOrigin(baseUrl),
    findCaller(request) {
      const token = cookie.read(request);
      return token === undefined ? undefined : sessions.authenticate(token);
    },
    reauthorize: sessions.confirm,
    unauthenticatedProblem: 'signed_out',
    challenge: 'Session realm="carillon"',
    headers: CONSOLE_API_HEADERS,
  };
}

/**
 * Authenticates a request to a route group. Returns the caller, synchronously if the caller is cached; throws the
 * problem with which the request is rejected.
 */
export function authenticateRequest(group: RouteGroup, request: RequestHeaders): Caller | Promise<Caller> {
  const problem = group.checkRequest(request);
  if (problem !== undefined) throw problem;
  const found = group.findCaller(request);
  return found instanceof Promise ? found.then((caller) => requireCaller(group, caller)) : requireCaller(group, found);
}

function requireCaller(group: RouteGroup, caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Problem(group.unauthenticatedProblem);
  return caller;
}

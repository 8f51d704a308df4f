import type { Caller } from '../../permissions.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import type { Input, Route } from '../routes/route.ts';
import {
  type Authenticate,
  type CallerLookup,
  callerByKey,
  type FindCaller,
  type Reauthorize,
} from './authenticate.ts';
import { type RequestHeaders, rejectCrossOrigin, type SessionCookie } from './session-cookie.ts';

/** Routes under one prefix with one way to authenticate. */
export type RouteGroup = {
  readonly prefix: string;
  readonly rows: readonly Route[];
  /** Checks a request before authentication. Returns the problem to reject it with, or undefined. */
  refuse(request: RequestHeaders): Problem | undefined;
  readonly findCaller: FindCaller;
  readonly reauthorize: Reauthorize;
  /** Problem code for unauthenticated requests. */
  readonly unauthenticatedProblem: ProblemCode;
  /** The `WWW-Authenticate` header, which every 401 needs (RFC 9110, 11.6.1). */
  readonly challenge: string;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called for every single record that was fetched, with the route's path and the ids in it. Not awaited. */
  readonly onFetched?: (caller: Caller, path: string, ids: Input['ids']) => void;
};

/** The challenge of the API. */
export const KEY_CHALLENGE = 'Key realm="carillon"';

/** The API: authenticated by the headers `key` and `domain`. Cookies are ignored. */
export function apiRouteGroup(
  rows: readonly Route[],
  keys: { authenticate: Authenticate; confirm: Reauthorize },
  onFetched: NonNullable<RouteGroup['onFetched']>,
): RouteGroup {
  return {
    prefix: '/v2',
    rows,
    refuse: () => undefined,
    findCaller: callerByKey(keys.authenticate),
    reauthorize: keys.confirm,
    unauthenticatedProblem: 'unauthorized',
    challenge: KEY_CHALLENGE,
    headers: {},
    onFetched,
  };
}

/** Looks up the caller of a session token. */
export type AuthenticateSession = (token: string) => CallerLookup;

/** Console responses must not be cached, rendered as a page, run as a script, or read by other sites. */
const BROWSER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** The console API: same-origin requests authenticated by the session cookie. Keys are ignored. */
export function consoleRouteGroup(
  rows: readonly Route[],
  sessions: { authenticate: AuthenticateSession; confirm: Reauthorize },
  { cookie, baseUrl }: { cookie: SessionCookie; baseUrl: () => string },
): RouteGroup {
  return {
    prefix: '/console/api',
    rows,
    refuse: rejectCrossOrigin(baseUrl),
    findCaller(request) {
      const token = cookie.read(request);
      return token === undefined ? undefined : sessions.authenticate(token);
    },
    reauthorize: sessions.confirm,
    unauthenticatedProblem: 'signed_out',
    challenge: 'Session realm="carillon"',
    headers: BROWSER_HEADERS,
  };
}

/**
 * The caller of a request to a route group; throws the problem to reject it with. Synchronous if the caller is cached.
 */
export function authenticateRequest(group: RouteGroup, request: RequestHeaders): Caller | Promise<Caller> {
  const problem = group.refuse(request);
  if (problem !== undefined) throw problem;
  const found = group.findCaller(request);
  return found instanceof Promise ? found.then((caller) => requireCaller(group, caller)) : requireCaller(group, found);
}

function requireCaller(group: RouteGroup, caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Problem(group.unauthenticatedProblem);
  return caller;
}

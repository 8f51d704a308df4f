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
import { type RequestHeaders, rejectCrossOrigin } from './csrf.ts';
import type { SessionCookie } from './session-cookie.ts';

/** A door to the rows: the prefix they are mounted under, and how a caller is known there. */
export type RouteGroup = {
  readonly prefix: string;
  readonly rows: readonly Route[];
  /** Why such a request may not come here at all, whoever sends it; undefined if it may. */
  refuse(request: RequestHeaders): Problem | undefined;
  readonly findCaller: FindCaller;
  readonly reauthorize: Reauthorize;
  /** What whoever is not known is answered. */
  readonly unauthenticatedProblem: ProblemCode;
  /** By what one gets in, which every 401 has to say (RFC 9110, 11.6.1). */
  readonly challenge: string;
  /** What every answer says beside what it is about. */
  readonly headers: Readonly<Record<string, string>>;
  /** Hears of every single record that was fetched here, at the path of a row, with the ids in it. It is not waited for. */
  readonly onFetched?: (caller: Caller, path: string, ids: Input['ids']) => void;
};

/** By which the interface is entered. */
export const KEY_CHALLENGE = 'Key realm="carillon"';

/** The first door: headers `key` and `domain`. A cookie is not looked at. */
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
    // The key in the request tells answers apart.
    headers: {},
    onFetched,
  };
}

/** Looks the token of a session up. */
export type AuthenticateSession = (token: string) => CallerLookup;

/** What a browser is told: to keep nothing, and that an answer is no page, no script, and nothing for other sites. */
const BROWSER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** The second door: the console's own pages, with the cookie of a session. A key is not looked at. */
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
 * Who comes to a door, known by what they show; throws the problem that they are turned away with. At once for whoever is
 * known from before.
 */
export function authenticateRequest(door: RouteGroup, request: RequestHeaders): Caller | Promise<Caller> {
  const refused = door.refuse(request);
  if (refused !== undefined) throw refused;
  const found = door.findCaller(request);
  return found instanceof Promise ? found.then((caller) => known(door, caller)) : known(door, found);
}

function known(door: RouteGroup, caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Problem(door.unauthenticatedProblem);
  return caller;
}

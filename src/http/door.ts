import type { Caller } from '../access.ts';
import { Problem, type ProblemCode } from '../problems.ts';
import { type Authenticate, type CallerOf, type Confirm, callerByKey, type Found } from './auth.ts';
import { type Knock, refuseForeign } from './origin.ts';
import type { Input, Route } from './route.ts';
import type { SessionCookie } from './session-cookie.ts';

/** A door to the rows: the prefix they are mounted under, and how a caller is known there. */
export type Door = {
  readonly prefix: string;
  readonly rows: readonly Route[];
  /** Why such a request may not come here at all, whoever sends it; undefined if it may. */
  refuse(request: Knock): Problem | undefined;
  readonly callerOf: CallerOf;
  readonly confirm: Confirm;
  /** What whoever is not known is answered. */
  readonly stranger: ProblemCode;
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
export function keyDoor(
  rows: readonly Route[],
  keys: { authenticate: Authenticate; confirm: Confirm },
  onFetched: NonNullable<Door['onFetched']>,
): Door {
  return {
    prefix: '/v2',
    rows,
    refuse: () => undefined,
    callerOf: callerByKey(keys.authenticate),
    confirm: keys.confirm,
    stranger: 'unauthorized',
    challenge: KEY_CHALLENGE,
    // The key in the request tells answers apart.
    headers: {},
    onFetched,
  };
}

/** Looks the token of a session up. */
export type AuthenticateSession = (token: string) => Found;

/** What a browser is told: to keep nothing, and that an answer is no page, no script, and nothing for other sites. */
const BROWSER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** The second door: the console's own pages, with the cookie of a session. A key is not looked at. */
export function consoleDoor(
  rows: readonly Route[],
  sessions: { authenticate: AuthenticateSession; confirm: Confirm },
  { cookie, baseUrl }: { cookie: SessionCookie; baseUrl: () => string },
): Door {
  return {
    prefix: '/console/api',
    rows,
    refuse: refuseForeign(baseUrl),
    callerOf(request) {
      const token = cookie.read(request);
      return token === undefined ? undefined : sessions.authenticate(token);
    },
    confirm: sessions.confirm,
    stranger: 'signed_out',
    challenge: 'Session realm="carillon"',
    headers: BROWSER_HEADERS,
  };
}

/**
 * Who comes to a door, known by what they show; throws the problem that they are turned away with. At once for whoever is
 * known from before.
 */
export function letIn(door: Door, request: Knock): Caller | Promise<Caller> {
  const refused = door.refuse(request);
  if (refused !== undefined) throw refused;
  const found = door.callerOf(request);
  return found instanceof Promise ? found.then((caller) => known(door, caller)) : known(door, found);
}

function known(door: Door, caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Problem(door.stranger);
  return caller;
}

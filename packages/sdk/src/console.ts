import { type Activity, activity } from './activity.ts';
import type { DateText, Flag } from './api-types.ts';
import { Carillon, type CarillonOptions, sending, transportedBy } from './carillon.ts';
import { type ChecksTargets, verdict } from './hooks.ts';
import {
  type Invitations,
  invitations,
  type Passphrase,
  passphrase,
  type Sessions,
  type SignedIn,
  sessions,
} from './people.ts';
import { recordOf } from './response-body.ts';
import { type Hours, hours, type OverviewNow, overview } from './stats.ts';
import type { CallOptions, Send } from './transport.ts';

/** Options of the console's client. It authenticates by the session cookie. */
export type ConsoleOptions = Omit<CarillonOptions, 'auth' | 'basePath'>;

/** Input for signing in. */
export type SignIn = {
  /** May be omitted if the service has exactly one account. */
  readonly domain?: string | undefined;
  readonly email: string;
  readonly passphrase: string;
};

/** The user that an invitation is for. */
export type Invited = {
  readonly email: string;
  readonly user_name: string;
  readonly domain: string;
  readonly company_name: string;
  /** Whether the user already has a passphrase, which will be replaced. */
  readonly has_passphrase: Flag;
  readonly expires: DateText;
};

/** The session cookie is `HttpOnly`: the browser sends it, and scripts cannot read it. */
const byCookie = () => ({ credentials: 'same-origin' }) as const;

/**
 * The client of the console: all methods of a client with a key, for the user who is signed in in this browser,
 * and those that only the console has. Calls reject with `signed_out` without a session. `idempotencyKey` is
 * ignored, and calls are only retried if `retries` is set.
 *
 * @example
 * ```ts
 * const console = new CarillonConsole({ baseUrl: location.origin });
 * await console.signIn({ email, passphrase });
 * ```
 */
export class CarillonConsole extends Carillon {
  readonly sessions: Sessions;
  readonly invitations: Invitations;
  readonly passphrase: Passphrase;
  readonly activity: Activity;
  readonly hours: Hours;
  /** Current state of deliveries: of the account for admins, otherwise the caller's own. */
  readonly overview: OverviewNow;
  /** Whether a URL would be accepted as a target, and why. */
  readonly verdict: ChecksTargets;
  readonly #open: Send;

  constructor(options: ConsoleOptions) {
    // A page shows errors immediately, and the console API stores no responses for replays.
    const own = { retries: 0, ...options, auth: byCookie, basePath: '/console/api', storesResponses: false };
    super(own);
    const send = sending(transportedBy(own));
    this.sessions = sessions(send);
    this.invitations = invitations(send);
    this.passphrase = passphrase(send);
    this.activity = activity(send);
    this.hours = hours(send);
    this.overview = overview(send);
    this.verdict = verdict(send);
    this.#open = sending(transportedBy({ ...own, basePath: '/console' }));
  }

  /**
   * Signs in. Errors: `sign_in_refused` for any wrong credentials; `too_many_tries`; `invalid_input` with the field.
   *
   * @example
   * ```ts
   * await console.signIn({ domain, email, passphrase });
   * ```
   */
  async signIn(input: SignIn, options?: CallOptions): Promise<SignedIn> {
    return recordOf(await this.#open({ ...options, method: 'POST', path: ['session'], body: input }));
  }

  /**
   * Signs out; does nothing without a session.
   *
   * @example
   * ```ts
   * await console.signOut();
   * ```
   */
  async signOut(options?: CallOptions): Promise<void> {
    await this.#open({ ...options, method: 'DELETE', path: ['session'] });
  }

  /**
   * The user that an invitation is for. Errors: `not_found` if it was used, has expired, or does not exist.
   *
   * @example
   * ```ts
   * const { user_name } = await console.invitation(token);
   * ```
   */
  async invitation(token: string, options?: CallOptions): Promise<Invited> {
    return recordOf(await this.#open({ ...options, method: 'POST', path: ['invitation'], body: { token } }));
  }

  /**
   * Sets the passphrase of the invited user, and signs in. Errors: `not_found`, `invalid_input`.
   *
   * @example
   * ```ts
   * await console.welcome(token, passphrase);
   * ```
   */
  async welcome(token: string, passphrase: string, options?: CallOptions): Promise<SignedIn> {
    return recordOf(await this.#open({ ...options, method: 'POST', path: ['welcome'], body: { token, passphrase } }));
  }
}

import { type Activity, createActivityMethods } from './activity.ts';
import type { DateText, Flag } from './api-types.ts';
import { Carillon, type CarillonOptions, createSend, resolveClientOptions } from './carillon.ts';
import { type CheckTarget, createCheckTargetMethod } from './hooks.ts';
import {
  createInvitationMethods,
  createPassphraseMethods,
  createSessionMethods,
  type Invitations,
  type PassphraseMethods,
  type Sessions,
  type SignedInUser,
} from './people.ts';
import { recordOf } from './response-body.ts';
import { createHourMethods, createOverviewMethod, type GetOverview, type Hours } from './stats.ts';
import type { CallOptions, Send } from './transport.ts';

/** Options of the console's client, which authenticates with the session cookie. */
export type ConsoleOptions = Omit<CarillonOptions, 'auth' | 'basePath'>;

/** Input for signing in. */
export type SignInInput = {
  /** Domain of the account. May be omitted if the service has exactly one account. */
  readonly domain?: string | undefined;
  readonly email: string;
  readonly passphrase: string;
};

/** The user that an invitation is for, and the account of this user. */
export type InvitedUser = {
  readonly email: string;
  readonly user_name: string;
  readonly domain: string;
  readonly company_name: string;
  /** Whether the user already has a passphrase, which the new one will replace. */
  readonly has_passphrase: Flag;
  readonly expires: DateText;
};

/** Makes the browser send the session cookie. The cookie is `HttpOnly`, so scripts cannot read it. */
const getCookieCredentials = () => ({ credentials: 'same-origin' }) as const;

/**
 * The client of the console. It authenticates with the session cookie of the browser, and adds methods to those of
 * {@link Carillon}. Calls reject with `signed_out` without a session. `idempotencyKey` is ignored, and calls are only
 * retried if `retries` is set.
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
  readonly passphrase: PassphraseMethods;
  readonly activity: Activity;
  /** Numbers of attempts of each hook, by hour, for the last 24 hours. */
  readonly hours: Hours;
  /** Returns the current state of deliveries: of the whole account for admins, otherwise of the caller. */
  readonly overview: GetOverview;
  /** Checks whether the service would accept a URL as a target. The result contains the reason. */
  readonly checkTarget: CheckTarget;
  readonly #sendToPublicRoutes: Send;

  constructor(options: ConsoleOptions) {
    // The console shows errors immediately instead of retrying, and its API stores no responses for retries.
    const consoleOptions = {
      retries: 0,
      ...options,
      auth: getCookieCredentials,
      basePath: '/console/api',
      storesResponses: false,
    };
    super(consoleOptions);
    const send = createSend(resolveClientOptions(consoleOptions));
    this.sessions = createSessionMethods(send);
    this.invitations = createInvitationMethods(send);
    this.passphrase = createPassphraseMethods(send);
    this.activity = createActivityMethods(send);
    this.hours = createHourMethods(send);
    this.overview = createOverviewMethod(send);
    this.checkTarget = createCheckTargetMethod(send);
    this.#sendToPublicRoutes = createSend(resolveClientOptions({ ...consoleOptions, basePath: '/console' }));
  }

  /**
   * Signs in. Errors: `sign_in_refused` for any wrong credentials; `too_many_tries`; `invalid_input` with the field.
   *
   * @example
   * ```ts
   * await console.signIn({ domain, email, passphrase });
   * ```
   */
  async signIn(input: SignInInput, options?: CallOptions): Promise<SignedInUser> {
    return recordOf(await this.#sendToPublicRoutes({ ...options, method: 'POST', path: ['session'], body: input }));
  }

  /**
   * Signs out. Does nothing without a session.
   *
   * @example
   * ```ts
   * await console.signOut();
   * ```
   */
  async signOut(options?: CallOptions): Promise<void> {
    await this.#sendToPublicRoutes({ ...options, method: 'DELETE', path: ['session'] });
  }

  /**
   * Returns the user that an invitation is for. Errors: `not_found` if the invitation was used, has expired or does not
   * exist.
   *
   * @example
   * ```ts
   * const { user_name } = await console.getInvitedUser(token);
   * ```
   */
  async getInvitedUser(token: string, options?: CallOptions): Promise<InvitedUser> {
    return recordOf(
      await this.#sendToPublicRoutes({ ...options, method: 'POST', path: ['invitation'], body: { token } }),
    );
  }

  /**
   * Accepts an invitation: sets the passphrase of the invited user, and signs in. Errors: `not_found`, `invalid_input`.
   *
   * @example
   * ```ts
   * await console.acceptInvitation(token, passphrase);
   * ```
   */
  async acceptInvitation(token: string, passphrase: string, options?: CallOptions): Promise<SignedInUser> {
    return recordOf(
      await this.#sendToPublicRoutes({ ...options, method: 'POST', path: ['welcome'], body: { token, passphrase } }),
    );
  }
}

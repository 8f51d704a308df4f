import { type Activity, activity } from './activity.ts';
import type { DateText, Flag } from './api-types.ts';
import { Carillon, type CarillonOptions, sending, transportedBy } from './carillon.ts';
import { type Hours, hours } from './hours.ts';
import { type Invitations, invitations } from './invitations.ts';
import { type OverviewNow, overview } from './overview.ts';
import { type Passphrase, passphrase } from './passphrase.ts';
import { recordOf } from './response-body.ts';
import { type Sessions, type SignedIn, sessions } from './sessions.ts';
import { type JudgesTargets, verdict } from './target-check.ts';
import type { CallOptions, Send } from './transport.ts';

/** Where the console's service is. How it authenticates is settled: by the cookie that signing in sets. */
export type ConsoleOptions = Omit<CarillonOptions, 'auth' | 'basePath'>;

/** What signing in takes. */
export type SignIn = {
  /** May be left out where the service has exactly one account. */
  readonly domain?: string | undefined;
  readonly email: string;
  readonly passphrase: string;
};

/** Whom a link is for. */
export type Invited = {
  readonly email: string;
  readonly user_name: string;
  readonly domain: string;
  readonly company_name: string;
  /** There is a passphrase, and another one is to be set. */
  readonly has_passphrase: Flag;
  readonly expires: DateText;
};

/** The browser's own cookie of this origin; a script neither sees nor sets it. */
const byCookie = () => ({ credentials: 'same-origin' }) as const;

/**
 * The client of the console's pages: everything that a client with a key can, for whoever is signed in in this browser,
 * and what only the console has. Calls reject with `signed_out` when nobody is. An `idempotencyKey` is not looked at, and
 * nothing is repeated unless `retries` says so.
 */
export class CarillonConsole extends Carillon {
  readonly sessions: Sessions;
  readonly invitations: Invitations;
  readonly passphrase: Passphrase;
  readonly activity: Activity;
  readonly hours: Hours;
  /** How deliveries go at this moment: of the account for admins, else the caller's own. */
  readonly overview: OverviewNow;
  /** Whether an address would be taken as a target, and why. */
  readonly verdict: JudgesTargets;
  readonly #open: Send;

  constructor(options: ConsoleOptions) {
    // A page shows at once what is wrong, and behind its door no answer is kept.
    const own = { retries: 0, ...options, auth: byCookie, basePath: '/console/api', keepsAnswers: false };
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

  /** Signs in. Errors: `sign_in_refused`, whatever is wrong; `too_many_tries`; `invalid_input` naming the field. */
  async signIn(input: SignIn, options?: CallOptions): Promise<SignedIn> {
    return recordOf(await this.#open({ ...options, method: 'POST', path: ['session'], body: input }));
  }

  /** Signs out; also where nobody is signed in. */
  async signOut(options?: CallOptions): Promise<void> {
    await this.#open({ ...options, method: 'DELETE', path: ['session'] });
  }

  /** Whom a link is for. Errors: `not_found` when it was used, has expired, or never was. */
  async invitation(token: string, options?: CallOptions): Promise<Invited> {
    return recordOf(await this.#open({ ...options, method: 'POST', path: ['invitation'], body: { token } }));
  }

  /** Sets the passphrase of whom a link is for, and signs in. Errors: `not_found`, `invalid_input`. */
  async welcome(token: string, passphrase: string, options?: CallOptions): Promise<SignedIn> {
    return recordOf(await this.#open({ ...options, method: 'POST', path: ['welcome'], body: { token, passphrase } }));
  }
}

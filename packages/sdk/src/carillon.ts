import type { Authenticate } from './auth.ts';
import { type Calendars, calendars } from './calendars.ts';
import { type Clients, clients } from './clients.ts';
import { type Comments, comments } from './comments.ts';
import { type Account, company } from './company.ts';
import { type Contacts, contacts } from './contacts.ts';
import { type Deliveries, deliveries } from './deliveries.ts';
import { type Events, events } from './events.ts';
import { type Hooks, hooks } from './hooks.ts';
import { type Keys, keys } from './keys.ts';
import { type Notifications, notifications } from './notifications.ts';
import { type Notified, notified } from './parse-notification.ts';
import { type Projects, projects } from './projects.ts';
import { type RepeatOptions, repeating } from './retry.ts';
import { type Subtasks, subtasks } from './subtasks.ts';
import { type Tasks, tasks } from './tasks.ts';
import { type Teams, teams } from './teams.ts';
import { type TimeEntries, timeEntries } from './time-entries.ts';
import { type CallOptions, type Fetch, type Send, streaming, type TransportOptions, transport } from './transport.ts';
import { type Caller, user } from './user.ts';
import { type Users, users } from './users.ts';

/** Where the service is and how to speak to it. */
export type CarillonOptions = {
  /** Address of the service, `https://calendar.example` or with a path before `/v2`; a slash at its end is dropped. */
  readonly baseUrl: string | URL;
  /** A way to authenticate: `apiKey({ domain, key })`. */
  readonly auth: Authenticate;
  /** Path below `baseUrl` where the nouns are; default `/v2`. */
  readonly basePath?: string | undefined;
  /** Milliseconds for each call that says nothing else, with all its repeats; default 30,000; 0 waits without limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * How often a call is repeated at most when it fails in a way that may pass: no connection, 408, 429, 502 to 504.
   * Default 2; 0: never. So that a POST can be repeated, it carries an `Idempotency-Key`, made up for it. X4.
   */
  readonly retries?: number | undefined;
  /** What makes requests; default the global `fetch`. */
  readonly fetch?: Fetch | undefined;
};

/** What else a client of another door says. */
export type DoorOptions = CarillonOptions & Partial<Pick<RepeatOptions, 'keepsAnswers'>>;

/**
 * A client of one Carillon service for one caller: a property for each noun. Every call rejects with a
 * `CarillonError`, or with the reason of the signal that aborted it. No redirect is ever followed.
 *
 * ```ts
 * const carillon = new Carillon({ baseUrl: 'http://127.0.0.1:8080', auth: apiKey({ domain, key }) });
 * const event = await carillon.events.create({ event_name: 'Launch', start_date: '20261120', due_date: '20261120' });
 * ```
 */
export class Carillon {
  /** Calendar events. */
  readonly events: Events;
  /** What calendar programs subscribe to. */
  readonly calendars: Calendars;
  /** Clients: whom projects are for. */
  readonly clients: Clients;
  /** Contacts: whom one speaks to. */
  readonly contacts: Contacts;
  /** Projects. */
  readonly projects: Projects;
  /** Tasks, each of a project. */
  readonly tasks: Tasks;
  /** Subtasks, each of a task. */
  readonly subtasks: Subtasks;
  /** Time entries: what was worked on tasks. */
  readonly timeEntries: TimeEntries;
  /** Comments on projects, tasks and subtasks. */
  readonly comments: Comments;
  /** The caller. */
  readonly user: Caller;
  /** The users of the account. */
  readonly users: Users;
  /** Teams: users who are assigned together. */
  readonly teams: Teams;
  /** The account. */
  readonly company: Account;
  /** API keys. */
  readonly keys: Keys;
  /** Hooks: which target is told of what. */
  readonly hooks: Hooks;
  /** What hooks were told, and what came of it. */
  readonly deliveries: Deliveries;
  /** The feed. */
  readonly notifications: Notifications;
  readonly #root: string;

  /** @throws TypeError when `baseUrl` is not absolute http or https, or holds userinfo, a query or a fragment. */
  constructor(options: DoorOptions) {
    const transported = transportedBy(options);
    this.#root = transported.root;
    const send = sending(transported);
    this.events = events(send);
    this.calendars = calendars(send);
    this.clients = clients(send);
    this.contacts = contacts(send);
    this.projects = projects(send);
    this.tasks = tasks(send);
    this.subtasks = subtasks(send);
    this.timeEntries = timeEntries(send);
    this.comments = comments(send);
    this.user = user(send);
    this.users = users(send);
    this.teams = teams(send);
    this.company = company(send);
    this.keys = keys(send);
    this.hooks = hooks(send);
    this.deliveries = deliveries(send);
    this.notifications = notifications(send, streaming(transported));
  }

  /**
   * The record that a notification names, with its noun. The key is sent to this client's service and nowhere else:
   * a `resource_url` that is no address of it rejects with a TypeError before anything is sent. C15, C16.
   */
  async notified(resourceUrl: string, options?: CallOptions): Promise<Notified> {
    return notified(this, this.#root, resourceUrl, options);
  }
}

/** What these options mean for each request. */
export function transportedBy(options: DoorOptions): TransportOptions & RepeatOptions {
  return {
    root: rootOf(options.baseUrl, options.basePath ?? '/v2'),
    auth: options.auth,
    // Called as a plain function: a browser's `fetch` refuses any other `this`.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeoutMs: options.timeoutMs ?? 30_000,
    retries: options.retries ?? 2,
    keepsAnswers: options.keepsAnswers ?? true,
  };
}

/** Requests, repeated where that is safe. */
export function sending(options: TransportOptions & RepeatOptions): Send {
  return repeating(transport(options), options);
}

function rootOf(baseUrl: string | URL, basePath: string): string {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isHttp = base?.protocol === 'http:' || base?.protocol === 'https:';
  if (base === undefined || !isHttp || base.username + base.password + base.search + base.hash !== '') {
    throw new TypeError('baseUrl is an http or https address without userinfo, query and fragment.');
  }
  const path = `${base.pathname}/${basePath}`.split('/').filter((part) => part !== '');
  return [base.origin, ...path].join('/');
}

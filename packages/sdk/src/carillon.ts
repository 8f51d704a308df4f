import { createDeliveryMethods, type Deliveries } from './activity.ts';
import { type Calendars, createCalendarMethods } from './calendars.ts';
import { createHookMethods, type Hooks } from './hooks.ts';
import { createKeyMethods, type Keys } from './keys.ts';
import { createFeedMethods, type Notifications } from './notifications.ts';
import { fetchNotifiedRecord, type NotifiedRecord } from './parse-notification.ts';
import {
  type AccountMethods,
  type CallerMethods,
  createAccountMethods,
  createCallerMethods,
  createUserMethods,
  type Users,
} from './people.ts';
import {
  type Clients,
  type Comments,
  type Contacts,
  createClientMethods,
  createCommentMethods,
  createContactMethods,
  createEventMethods,
  createProjectMethods,
  createSubtaskMethods,
  createTaskMethods,
  createTeamMethods,
  createTimeEntryMethods,
  type Events,
  type Projects,
  type Subtasks,
  type Tasks,
  type Teams,
  type TimeEntries,
} from './resources.ts';
import { type RetryOptions, withRetries } from './retry.ts';
import {
  type CallOptions,
  type CredentialsProvider,
  createOpenStream,
  createTransport,
  type Fetch,
  type Send,
  type TransportOptions,
} from './transport.ts';

/** Options of a {@link Carillon} client. */
export type CarillonOptions = {
  /** URL of the service, such as `https://calendar.example`, optionally with a path. A trailing slash is ignored. */
  readonly baseUrl: string | URL;
  /** Provides the credentials of each request, such as `apiKey({ domain, key })`. */
  readonly auth: CredentialsProvider;
  /** Path of the API below `baseUrl`; default `/v2`. */
  readonly basePath?: string | undefined;
  /** Default timeout of a call including its retries, in milliseconds; default 30,000; 0 means no timeout. */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum number of retries after a transient failure: no connection, 408, 429, 502 to 504. Default 2; 0 disables
   * retries. A POST gets a generated `Idempotency-Key`, so that it can be retried safely (X4).
   */
  readonly retries?: number | undefined;
  /** Replaces the global `fetch`, for example with a proxy. */
  readonly fetch?: Fetch | undefined;
};

/**
 * Options of a client for any route group, including a route group that does not store responses by `Idempotency-Key`.
 */
export type RouteGroupOptions = CarillonOptions & Partial<Pick<RetryOptions, 'storesResponses'>>;

/**
 * A client of one Carillon service for one caller, with a property for each resource. Calls reject with a
 * `CarillonError`, or with the reason of the signal that aborted them. Redirects are never followed.
 *
 * @example
 * ```ts
 * const carillon = new Carillon({ baseUrl: 'http://127.0.0.1:8080', auth: apiKey({ domain, key }) });
 * const event = await carillon.events.create({ event_name: 'Launch', start_date: '20261120', due_date: '20261120' });
 * ```
 */
export class Carillon {
  /** Calendar events. */
  readonly events: Events;
  /** Calendar subscriptions. */
  readonly calendars: Calendars;
  /** Clients of projects. */
  readonly clients: Clients;
  /** Contact persons of clients. */
  readonly contacts: Contacts;
  /** Projects. */
  readonly projects: Projects;
  /** Tasks. Each belongs to a project. */
  readonly tasks: Tasks;
  /** Subtasks. Each belongs to a task. */
  readonly subtasks: Subtasks;
  /** Time worked on tasks. */
  readonly timeEntries: TimeEntries;
  /** Comments on projects, tasks and subtasks. */
  readonly comments: Comments;
  /** The user that the key belongs to. */
  readonly user: CallerMethods;
  /** The users of the account. */
  readonly users: Users;
  /** Teams: groups of users who can be assigned together. */
  readonly teams: Teams;
  /** The account. */
  readonly company: AccountMethods;
  /** API keys. */
  readonly keys: Keys;
  /** Webhook subscriptions. */
  readonly hooks: Hooks;
  /** Deliveries to hooks and their attempts. */
  readonly deliveries: Deliveries;
  /** The feed: all occurrences (domain events) of the account. */
  readonly notifications: Notifications;
  readonly #apiRoot: string;

  /** @throws TypeError if `baseUrl` is not an absolute http or https URL, or has userinfo, a query or a fragment. */
  constructor(options: RouteGroupOptions) {
    const transportOptions = resolveClientOptions(options);
    this.#apiRoot = transportOptions.apiRoot;
    const send = createSend(transportOptions);
    this.events = createEventMethods(send);
    this.calendars = createCalendarMethods(send);
    this.clients = createClientMethods(send);
    this.contacts = createContactMethods(send);
    this.projects = createProjectMethods(send);
    this.tasks = createTaskMethods(send);
    this.subtasks = createSubtaskMethods(send);
    this.timeEntries = createTimeEntryMethods(send);
    this.comments = createCommentMethods(send);
    this.user = createCallerMethods(send);
    this.users = createUserMethods(send);
    this.teams = createTeamMethods(send);
    this.company = createAccountMethods(send);
    this.keys = createKeyMethods(send);
    this.hooks = createHookMethods(send);
    this.deliveries = createDeliveryMethods(send);
    this.notifications = createFeedMethods(send, createOpenStream(transportOptions));
  }

  /**
   * Fetches the record that a notification names. The key is sent only to the service of this client: any other
   * `resource_url` rejects with a TypeError before a request is sent (C15, C16).
   *
   * @example
   * ```ts
   * const { resourceType, record } = await carillon.fetchNotifiedRecord(resourceUrl);
   * if (resourceType === 'events') showEvent(record.event_name, record.start_date);
   * ```
   */
  async fetchNotifiedRecord(resourceUrl: string, options?: CallOptions): Promise<NotifiedRecord> {
    return fetchNotifiedRecord(this, this.#apiRoot, resourceUrl, options);
  }
}

/** Fills in the default for each option that the caller omitted. */
export function resolveClientOptions(options: RouteGroupOptions): TransportOptions & RetryOptions {
  return {
    apiRoot: apiRootOf(options.baseUrl, options.basePath ?? '/v2'),
    auth: options.auth,
    // Wrap the call, because a browser's `fetch` throws if `this` is not the window.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeoutMs: options.timeoutMs ?? 30_000,
    retries: options.retries ?? 2,
    storesResponses: options.storesResponses ?? true,
  };
}

/** Creates a `Send` that retries transient failures. */
export function createSend(options: TransportOptions & RetryOptions): Send {
  return withRetries(createTransport(options), options);
}

function apiRootOf(baseUrl: string | URL, basePath: string): string {
  const parsedBaseUrl = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isHttp = parsedBaseUrl?.protocol === 'http:' || parsedBaseUrl?.protocol === 'https:';
  if (
    parsedBaseUrl === undefined ||
    !isHttp ||
    parsedBaseUrl.username + parsedBaseUrl.password + parsedBaseUrl.search + parsedBaseUrl.hash !== ''
  ) {
    throw new TypeError('baseUrl must be an http or https URL without userinfo, query and fragment.');
  }
  const pathSegments = `${parsedBaseUrl.pathname}/${basePath}`.split('/').filter((part) => part !== '');
  return [parsedBaseUrl.origin, ...pathSegments].join('/');
}

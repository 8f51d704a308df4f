import type { Delivery } from './activity.ts';
import type {
  DateText,
  FeedKind,
  Flag,
  FlagInput,
  HookKind,
  HookScope,
  Id,
  IdOrNone,
  Optional,
  PageWindow,
} from './api-types.ts';

export type { HookScope } from './api-types.ts';

import {
  buildDeleteMethod,
  buildGetMethod,
  buildListMethods,
  type DeleteMethod,
  type GetMethod,
  type ListMethods,
} from './resource-methods.ts';
import { fieldOf, recordOf, recordWithSecretOf } from './response-body.ts';
import {
  type CallOptions,
  type ChangeOptions,
  createUnexpectedResponseError,
  type PostOptions,
  type Send,
} from './transport.ts';

/**
 * State of a hook (X1). `failing`: the hook is live and has one or two failures in a row; the next attempt is
 * scheduled.
 */
export type HookState = 'live' | 'failing' | 'ended';

/** The reason why a hook ended; `""` for a live hook (C23). */
export type EndedReason = '' | 'deleted' | 'answered_401' | 'three_failures' | 'user_deleted' | 'role_lost';

/** A hook as returned by the service (X1, X11). */
export type Hook = {
  /** Identifier of the hook. */
  readonly id: string;
  /** The event kind that the hook reports, if it reports exactly one; otherwise empty. */
  readonly event: FeedKind | '';
  /** The event kinds that the hook reports, or only `"*"` for all. */
  readonly events: readonly (FeedKind | '*')[];
  /** Whose occurrences the hook reports. */
  readonly scope: HookScope;
  /** The project of a hook with scope `project`; `"0"` for none. */
  readonly project_id: string;
  /** Name of the hook. */
  readonly name: string;
  /** Whether notifications are sent; otherwise they stay pending. */
  readonly enabled: Flag;
  /** Names of the hook's own headers. Their values are never returned. */
  readonly headers: readonly string[];
  /** The URL that notifications are sent to. */
  readonly target_url: string;
  /** Owner of the hook. */
  readonly user_id: string;
  /** State of the hook: live, failing (between a failure and the next 200) or ended. */
  readonly state: HookState;
  /** Number of failures in a row, `"0"` to `"3"`. */
  readonly failures: string;
  /** When the next attempt of a failing hook is due, UTC. */
  readonly next_attempt_at: DateText;
  /** Outcome of the last attempt: a status or a failure code; empty before the first attempt. */
  readonly last_outcome: string;
  /** When the hook was created, UTC. */
  readonly date_created: DateText;
  /** When the hook ended, UTC. */
  readonly date_ended: DateText;
  /** The reason why the hook ended; empty for a live hook. */
  readonly ended_reason: EndedReason;
  /** Whether the notifications of the hook are signed (X8). */
  readonly signed: Flag;
  /** When the newest secret of the hook was created, UTC. */
  readonly secret_created: DateText;
  /** When the previous secret stops signing, UTC. Until then, both secrets sign. */
  readonly secret_previous_until: DateText;
};

/** A new signing secret, which is returned only once (X8). */
export type HookSecret = {
  /** Identifier of the hook. */
  readonly hook_id: string;
  /** The secret: `whsec_` and base64. Only this response contains it. */
  readonly secret: string;
  /** When the secret was created, UTC. */
  readonly date_created: DateText;
  /** When the previous secret stops signing, UTC. Until then, both secrets sign. */
  readonly previous_until: DateText;
};

/** Input for creating a signing secret (X8). */
export type HookSecretInput = Optional<{
  /**
   * Seconds during which both the previous and the new secret sign: at most a week, default a day. With 0, the previous
   * secret stops signing immediately.
   */
  overlap: number | string;
}>;

/** Settings of a hook that have a default (X11). */
type HookSettings = Optional<{
  /** Whose occurrences the hook reports; default `own`. */
  scope: HookScope;
  /** The project, with scope `project` only. */
  project_id: IdOrNone;
  /** Name of the hook, at most 255 characters. */
  name: string;
  /** Whether notifications are sent; default yes. Otherwise they stay pending until the hook is enabled. */
  enabled: FlagInput;
  /**
   * At most 5 headers that are sent with each notification, for the gateway of the target: names with values. Reserved
   * names are rejected. No response contains the values.
   */
  headers: Readonly<Record<string, string>>;
}>;

/** Input for creating a hook (C11, X11): a target, and either `event` or `events`. */
export type HookInput = HookSettings & {
  /**
   * Absolute http or https URL of at most 2,048 characters without userinfo. It must be unique on the service, so make
   * it hard to guess.
   */
  readonly target_url: string;
  /** The event kind (kind of occurrence) to subscribe to. Use `events` for several kinds. */
  readonly event?: HookKind | undefined;
  /** The event kinds to subscribe to, in place of `event`; `["*"]` for all, also later ones, that the key may read. */
  readonly events?: readonly (FeedKind | '*')[] | undefined;
};

/** Input for changing a hook (X13). Fields that are omitted stay as they are. */
export type HookChange = Partial<HookInput>;

/** Result of a replay (X13). */
export type HookReplay = {
  /** Identifier of the hook. */
  readonly hook_id: string;
  /** Number of deliveries that are sent again. */
  readonly deliveries: number;
};

/** The interval of a replay: times in UTC, `YYYY-MM-DD HH:MM:SS`, or `yyyymmdd` for midnight (X13). */
export type HookReplayInput = {
  /** Deliveries that became pending at this time or later. */
  readonly from: string;
  /** Deliveries that became pending at this time or earlier. */
  readonly to: string;
};

/** Filters of the list of hooks (X1). */
export type HookFilters = PageWindow &
  Optional<{
    /** Only hooks in this state: live, failing or ended. */
    state: HookState;
    /** Only hooks of this user; only admins can see hooks of other users. */
    user_id: Id;
  }>;

/** Methods for hooks (C11–C14, X1). */
export interface Hooks extends ListMethods<Hook, HookFilters>, GetMethod<Hook>, DeleteMethod {
  /**
   * Subscribes `target_url` to event kinds, and returns the id of the new hook (C11, C12). Errors: `invalid_input`,
   * `target_taken`, `not_permitted` if the key may not read the records of the kind.
   *
   * @example
   * ```ts
   * const target_url = 'https://app.example/bell-7f3k2q9d';
   * const { id } = await carillon.hooks.create({ event: 'new_event', target_url });
   * ```
   */
  create(input: HookInput, options?: PostOptions): Promise<{ readonly id: string }>;
  /**
   * Changes a hook (X13). After the response, no attempt uses its old settings. A new target resets the failures; a
   * disabled hook keeps its notifications pending. Errors: `invalid_input`, `target_taken`, `hook_ended`, `not_found`,
   * `not_permitted` if the key may not read the records of a kind.
   *
   * @example
   * ```ts
   * await carillon.hooks.update('7', { enabled: 0 });
   * ```
   */
  update(id: Id, change: HookChange, options?: ChangeOptions): Promise<Hook>;
  /**
   * Sends the finalized deliveries of a hook again that became pending in an interval, each with its `Webhook-Id`: at
   * most 10,000 (X13). Their failures do not count. Errors: `invalid_input`, `hook_ended`, `hook_disabled`, `not_found`.
   *
   * @example
   * ```ts
   * const { deliveries } = await carillon.hooks.replay('7', { from: '20270301', to: '2027-03-01 12:00:00' });
   * ```
   */
  replay(id: Id, interval: HookReplayInput, options?: PostOptions): Promise<HookReplay>;
  /**
   * Restores an ended hook under its id. Occurrences that the hook missed are delivered (X1). Errors: `target_taken` if
   * another hook has the target now, `not_found` if the caller has no such ended hook.
   *
   * @example
   * ```ts
   * const hook = await carillon.hooks.restore('7');
   * ```
   */
  restore(id: Id, options?: PostOptions): Promise<Hook>;
  /**
   * Immediately sends one notification whose `resource_url` is the hook itself (X1). To get the outcome, fetch the
   * returned delivery later. Errors: `not_found`, `hook_ended`, `hook_disabled`.
   *
   * @example
   * ```ts
   * const { id } = await carillon.hooks.test('7');
   * const { state, last_outcome } = await carillon.deliveries.get(id);
   * ```
   */
  test(id: Id, options?: PostOptions): Promise<Delivery>;
  /**
   * Creates the signing secret of a hook, or rotates the existing secret. From then on, the notifications of the hook
   * are signed with the new secret according to Standard Webhooks (X8). `overlap` is the number of seconds during which
   * the previous secret also signs. Errors: `invalid_input`, `hook_ended`, `not_found`, `not_permitted`; `secret_gone`
   * if this call repeats an earlier one whose response was lost. A secret is returned only once, so create another one.
   *
   * @example
   * ```ts
   * const { secret } = await carillon.hooks.createSecret('7', { overlap: 3_600 });
   * ```
   */
  createSecret(id: Id, input?: HookSecretInput, options?: PostOptions): Promise<HookSecret>;
  /**
   * Stops signing the notifications of a hook (X8). Errors: `not_found`, also for a hook without a secret;
   * `hook_ended`.
   *
   * @example
   * ```ts
   * await carillon.hooks.deleteSecret('7');
   * ```
   */
  deleteSecret(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Creates the methods for hooks at `/hooks`. */
export function createHookMethods(send: Send): Hooks {
  return {
    ...buildListMethods<Hook, HookFilters>(send, 'hooks', 'id'),
    ...buildGetMethod<Hook>(send, 'hooks'),
    ...buildDeleteMethod(send, 'hooks'),
    async create(input, options) {
      const { status, body } = await send({ ...options, method: 'POST', path: ['hooks'], body: input });
      const id = fieldOf(body, 'id'); // at top level, unlike the id of every other record (C11)
      if (typeof id !== 'string')
        throw createUnexpectedResponseError(status, `The response (${status}) contains no id.`);
      return { id };
    },
    update: async (id, change, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: ['hooks', id], body: change })),
    replay: async (id, interval, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'replay'], body: interval })),
    restore: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'restore'] })),
    test: async (id, options) => recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'test'] })),
    createSecret: async (id, input = {}, options) =>
      recordWithSecretOf<HookSecret>(
        await send({ ...options, method: 'POST', path: ['hooks', id, 'secret'], body: input }),
        'secret',
      ),
    deleteSecret: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: ['hooks', id, 'secret'] });
    },
  };
}

/** Result of the check whether the service would accept a URL as a target. */
export type TargetCheckResult = {
  /** Whether the URL would be accepted, or why it would be rejected. */
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  /** The reason, as words that follow "target_url". It never contains an IP address. */
  readonly message: string;
};

/** Checks whether the service would accept a URL as a target. */
export type CheckTarget = (targetUrl: string, options?: CallOptions) => Promise<TargetCheckResult>;

/** Creates the method for the target check at `/verdict`. */
export function createCheckTargetMethod(send: Send): CheckTarget {
  return async (targetUrl, options) =>
    recordOf(await send({ ...options, method: 'GET', path: ['verdict'], query: { target_url: targetUrl } }));
}

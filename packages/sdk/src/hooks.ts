import type { Delivery } from './activity.ts';
import type { DateText, Flag, Id, Kind, Optional, Window } from './api-types.ts';
import { type Deletes, deletes, type Gets, gets, type Lists, lists } from './resource-methods.ts';
import { fieldOf, recordOf, withSecret } from './response-body.ts';
import { type CallOptions, type ChangeOptions, type OnceOptions, type Send, unexpectedResponse } from './transport.ts';

/** `failing`: live, with one or two failures in a row, waiting for the next attempt. X1. */
export type HookState = 'live' | 'failing' | 'ended';

/** Why a hook ended; `""` for a live hook. C23. */
export type EndedReason = '' | 'deleted' | 'answered_401' | 'three_failures' | 'user_deleted';

/** A hook as returned by the service. X1. */
export type Hook = {
  /** Identifier of the hook. */
  readonly id: string;
  /** The kind that it subscribes to. */
  readonly event: Kind;
  /** The URL that notifications are sent to. */
  readonly target_url: string;
  /** Its owner. */
  readonly user_id: string;
  /** live, failing (between a failure and the next 200), or ended. */
  readonly state: HookState;
  /** Failures in a row, `"0"` to `"3"`. */
  readonly failures: string;
  /** The next attempt of a failing hook, UTC. */
  readonly next_attempt_at: DateText;
  /** Outcome of the last attempt: a status or a failure code; empty before the first. */
  readonly last_outcome: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it ended, UTC. */
  readonly date_ended: DateText;
  /** Why it ended; empty for a live hook. */
  readonly ended_reason: EndedReason;
  /** Whether its notifications are signed. X8. */
  readonly signed: Flag;
  /** When its newest secret was created. */
  readonly secret_created: DateText;
  /** Until when the previous secret signs, too. */
  readonly secret_previous_until: DateText;
};

/** A new signing secret, which is only returned once. X8. */
export type HookSecret = {
  /** Identifier of the hook. */
  readonly hook_id: string;
  /** `whsec_` and base64; only in this response. */
  readonly secret: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** Until when the previous secret signs, too, UTC. */
  readonly previous_until: DateText;
};

/** Input for creating a signing secret. X8. */
export type HookSecretInput = Optional<{
  /** Seconds during which the previous secret signs, too: at most a week, default a day, 0 to end it immediately. */
  overlap: number | string;
}>;

/** Input for creating a hook. C11. */
export type HookInput = {
  /** Absolute http or https, at most 2,048 characters, no userinfo; unique on the service, so make it hard to guess. */
  readonly target_url: string;
  /** The kind to subscribe to. */
  readonly event: Kind;
};

/** Filters of the list of hooks. X1. */
export type HookFilters = Window &
  Optional<{
    /** live, failing or ended. */
    state: HookState;
    /** Hooks of this user; only admins can see those of others. */
    user_id: Id;
  }>;

/** Hooks. C11–C14, X1. */
export interface Hooks extends Lists<Hook, HookFilters>, Gets<Hook>, Deletes {
  /**
   * Subscribes `target_url` to a kind, and returns the id of the new hook. C11, C12.
   * Errors: `invalid_input`, `target_taken`, `not_permitted` if the key may not read the records of the kind.
   *
   * @example
   * ```ts
   * const target_url = 'https://app.example/bell-7f3k2q9d';
   * const { id } = await carillon.hooks.create({ event: 'new_event', target_url });
   * ```
   */
  create(input: HookInput, options?: OnceOptions): Promise<{ readonly id: string }>;
  /**
   * Restores an ended hook under its id; what it missed is delivered. X1.
   * Errors: `target_taken` if another hook has the target now, `not_found` if the caller has no such ended hook.
   *
   * @example
   * ```ts
   * const hook = await carillon.hooks.restore('7');
   * ```
   */
  restore(id: Id, options?: OnceOptions): Promise<Hook>;
  /**
   * Immediately sends one notification whose `resource_url` is the hook itself. The outcome is in the delivery. X1.
   *
   * @example
   * ```ts
   * const { id } = await carillon.hooks.test('7');
   * const { state, last_outcome } = await carillon.deliveries.get(id);
   * ```
   */
  test(id: Id, options?: OnceOptions): Promise<Delivery>;
  /**
   * Signs its notifications by Standard Webhooks from now on, or rotates its secret. X8.
   * Errors: `invalid_input`, `hook_ended`, `not_found`, `not_permitted`; `secret_gone` if the response was lost and the
   * call was repeated: create another secret.
   *
   * @example
   * ```ts
   * const { secret } = await carillon.hooks.createSecret('7', { overlap: 3_600 });
   * ```
   */
  createSecret(id: Id, input?: HookSecretInput, options?: OnceOptions): Promise<HookSecret>;
  /**
   * Stops signing its notifications. X8. Errors: `not_found`, also if they are not signed; `hook_ended`.
   *
   * @example
   * ```ts
   * await carillon.hooks.deleteSecret('7');
   * ```
   */
  deleteSecret(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Hooks at `/hooks`. */
export function hooks(send: Send): Hooks {
  return {
    ...lists<Hook, HookFilters>(send, 'hooks', 'id'),
    ...gets<Hook>(send, 'hooks'),
    ...deletes(send, 'hooks'),
    async create(input, options) {
      const { status, body } = await send({ ...options, method: 'POST', path: ['hooks'], body: input });
      const id = fieldOf(body, 'id'); // C11: at top level, unlike every other record
      if (typeof id !== 'string') throw unexpectedResponse(status, `The response (${status}) contains no id.`);
      return { id };
    },
    restore: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'restore'] })),
    test: async (id, options) => recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'test'] })),
    createSecret: async (id, input = {}, options) =>
      withSecret<HookSecret>(
        await send({ ...options, method: 'POST', path: ['hooks', id, 'secret'], body: input }),
        'secret',
      ),
    deleteSecret: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: ['hooks', id, 'secret'] });
    },
  };
}

/** Whether the service would accept a URL as a target. */
export type TargetCheck = {
  /** Result of the check. */
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  /** The reason, as a continuation of "target_url"; never contains an IP address. */
  readonly message: string;
};

/** Checks a target before it is subscribed. */
export type ChecksTargets = (targetUrl: string, options?: CallOptions) => Promise<TargetCheck>;

/** The check at `/verdict`. */
export function verdict(send: Send): ChecksTargets {
  return async (targetUrl, options) =>
    recordOf(await send({ ...options, method: 'GET', path: ['verdict'], query: { target_url: targetUrl } }));
}

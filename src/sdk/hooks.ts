import type { Delivery } from './deliveries.ts';
import { type Deletes, deletes, fieldOf, type Gets, gets, type Lists, lists, recordOf } from './resource.ts';
import { type CallOptions, type Send, unexpected } from './transport.ts';
import type { DateText, Id, Kind, Optional, Window } from './wire.ts';

/** `failing`: live, with one or two failures in a row, waiting to try again. X1. */
export type HookState = 'live' | 'failing' | 'ended';

/** Why a hook ended; `""` while it lives. C23. */
export type EndedReason = '' | 'deleted' | 'answered_401' | 'three_failures' | 'user_deleted';

/** A hook as it is read. X1. */
export type Hook = {
  readonly id: string;
  readonly event: Kind;
  readonly target_url: string;
  /** Whose hook it is. */
  readonly user_id: string;
  readonly state: HookState;
  /** Failures in a row, `"0"` to `"3"`. */
  readonly failures: string;
  readonly next_attempt_at: DateText;
  readonly last_outcome: string;
  readonly date_created: DateText;
  readonly date_ended: DateText;
  readonly ended_reason: EndedReason;
};

/** What a hook is created from. C11. */
export type HookInput = {
  /** Absolute http or https, at most 2,048 characters, no userinfo; unique on the service, so make it hard to guess. */
  readonly target_url: string;
  readonly event: Kind;
};

/** Filters of the list of hooks. X1. */
export type HookFilters = Window &
  Optional<{
    state: HookState;
    /** Whose hooks; another than the caller is for admins. */
    user_id: Id;
  }>;

/** Hooks: who is told of what. C11–C14, X1. */
export interface Hooks extends Lists<Hook, HookFilters>, Gets<Hook>, Deletes {
  /**
   * Subscribes `target_url` to a kind and gives the new hook's id. C11, C12.
   * Errors: `invalid_input`, `target_taken`, `not_permitted` for a key that may not read what the kind is about.
   */
  create(input: HookInput, options?: CallOptions): Promise<{ readonly id: string }>;
  /**
   * Makes an ended hook live again, under its id; it is told what it missed. X1.
   * Errors: `target_taken` meanwhile, `not_found` for what is no ended hook of the caller.
   */
  restore(id: Id, options?: CallOptions): Promise<Hook>;
  /** Sends one notification whose resource_url is the hook itself, at once. The outcome is in the delivery. X1. */
  test(id: Id, options?: CallOptions): Promise<Delivery>;
}

/** Hooks at `/hooks`. */
export function hooks(send: Send): Hooks {
  return {
    ...lists<Hook, HookFilters>(send, 'hooks'),
    ...gets<Hook>(send, 'hooks'),
    ...deletes(send, 'hooks'),
    async create(input, options) {
      const { status, body } = await send({ ...options, method: 'POST', path: ['hooks'], body: input });
      const id = fieldOf(body, 'id'); // C11: at top level, unlike every other record
      if (typeof id !== 'string') throw unexpected(status, `The answer is ${status} and holds no id.`);
      return { id };
    },
    restore: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'restore'] })),
    test: async (id, options) => recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'test'] })),
  };
}

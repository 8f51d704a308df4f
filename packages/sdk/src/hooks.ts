import type { DateText, Flag, Id, Kind, Optional, Window } from './api-types.ts';
import type { Delivery } from './deliveries.ts';
import { type Lists, lists } from './pages.ts';
import { type Deletes, deletes, type Gets, gets } from './resource.ts';
import { fieldOf, issuedOf, recordOf } from './response-body.ts';
import { type ChangeOptions, type OnceOptions, type Send, unexpected } from './transport.ts';

/** `failing`: live, with one or two failures in a row, waiting to try again. X1. */
export type HookState = 'live' | 'failing' | 'ended';

/** Why a hook ended; `""` while it lives. C23. */
export type EndedReason = '' | 'deleted' | 'answered_401' | 'three_failures' | 'user_deleted';

/** A hook as it is read. X1. */
export type Hook = {
  /** Identifier of the hook. */
  readonly id: string;
  /** The kind it is told of. */
  readonly event: Kind;
  /** The address that is notified. */
  readonly target_url: string;
  /** Whose hook it is. */
  readonly user_id: string;
  /** live, failing (between a failure and the next 200), or ended. */
  readonly state: HookState;
  /** Failures in a row, `"0"` to `"3"`. */
  readonly failures: string;
  /** While it is failing: when it is tried again, UTC. */
  readonly next_attempt_at: DateText;
  /** What the last attempt came to: a status, or one word. Empty before the first. */
  readonly last_outcome: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it ended, UTC. */
  readonly date_ended: DateText;
  /** Why it ended. Empty while it lives. */
  readonly ended_reason: EndedReason;
  /** Whether its notifications are signed. X8. */
  readonly signed: Flag;
  /** Since when its newest secret signs. */
  readonly secret_created: DateText;
  /** Until when the secret before it signs, too. */
  readonly secret_previous_until: DateText;
};

/** A secret at the one moment when it can be seen. X8. */
export type HookSecret = {
  /** Identifier of the hook. */
  readonly hook_id: string;
  /** `whsec_` and base64: shown once, in this answer alone. */
  readonly secret: string;
  /** Since when it signs, UTC. */
  readonly date_created: DateText;
  /** Until when the secret before it signs, too, UTC. */
  readonly previous_until: DateText;
};

/** What a secret is made with. X8. */
export type HookSecretInput = Optional<{
  /** For how many seconds the secret before it goes on signing, too: at most a week, a day when left out, 0 to end it. */
  overlap: number | string;
}>;

/** What a hook is created from. C11. */
export type HookInput = {
  /** Absolute http or https, at most 2,048 characters, no userinfo; unique on the service, so make it hard to guess. */
  readonly target_url: string;
  /** The kind to be told of. */
  readonly event: Kind;
};

/** Filters of the list of hooks. X1. */
export type HookFilters = Window &
  Optional<{
    /** live, failing or ended. */
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
  create(input: HookInput, options?: OnceOptions): Promise<{ readonly id: string }>;
  /**
   * Makes an ended hook live again, under its id; it is told what it missed. X1.
   * Errors: `target_taken` meanwhile, `not_found` for what is no ended hook of the caller.
   */
  restore(id: Id, options?: OnceOptions): Promise<Hook>;
  /** Sends one notification whose resource_url is the hook itself, at once. The outcome is in the delivery. X1. */
  test(id: Id, options?: OnceOptions): Promise<Delivery>;
  /**
   * Signs its notifications by Standard Webhooks from now on, or gives it a new secret. X8.
   * Errors: `invalid_input`, `hook_ended`, `not_found`, `not_permitted`; `secret_gone` when the answer was lost and the
   * call was repeated: give it another.
   */
  createSecret(id: Id, input?: HookSecretInput, options?: OnceOptions): Promise<HookSecret>;
  /** Signs its notifications no more. X8. Errors: `not_found` also where they are not signed, `hook_ended`. */
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
      if (typeof id !== 'string') throw unexpected(status, `The answer is ${status} and holds no id.`);
      return { id };
    },
    restore: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'restore'] })),
    test: async (id, options) => recordOf(await send({ ...options, method: 'POST', path: ['hooks', id, 'test'] })),
    createSecret: async (id, input = {}, options) =>
      issuedOf<HookSecret>(
        await send({ ...options, method: 'POST', path: ['hooks', id, 'secret'], body: input }),
        'secret',
      ),
    deleteSecret: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: ['hooks', id, 'secret'] });
    },
  };
}

import type { DateText, Flag, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { deletes, type Gets, gets, type Lists, lists, type Updates, updates } from './resource-methods.ts';
import { withSecret } from './response-body.ts';
import type { ChangeOptions, OnceOptions, Send } from './transport.ts';

/**
 * The areas of permissions. Subtasks and time entries belong to `tasks`, contacts to `clients`, comments to
 * `projects`, teams to `users`. C2.
 */
export const permissionAreas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

/** One of {@link permissionAreas}. */
export type PermissionArea = (typeof permissionAreas)[number];

/** One permission of a key. C2. */
export type Permission = `${PermissionArea}:${'read' | 'write'}`;

/** An API key as returned by the service; the secret itself is not stored. X7. */
export type Key = {
  /** Identifier of the key. */
  readonly id: string;
  /** A label. */
  readonly label: string;
  /** Its owner. */
  readonly user_id: string;
  /** Its permissions. */
  readonly permissions: readonly Permission[];
  /** When it was issued, UTC. */
  readonly date_created: DateText;
  /** When it was last used, UTC, to the minute. */
  readonly last_used: DateText;
  /** When it expires, UTC. */
  readonly expires: DateText;
  /** Whether it was revoked. */
  readonly revoked: Flag;
};

/** A created API key with its secret, which is only returned once. X7. */
export type IssuedKey = Key & {
  /** The secret; only in this response. */
  readonly key: string;
};

/** Input for creating a key. X7. */
export type KeyInput = Optional<{
  /** A label. */
  label: string;
  /** Its permissions; at most those of the caller's own key. */
  permissions: readonly Permission[];
  /** Its owner; default (also for `0`, `""` and `null`): the caller. */
  user_id: IdOrNone;
  /**
   * A duration, `30d` or `12h`, or `YYYY-MM-DD HH:MM:SS` in UTC; default (also for `null`): the expiry of the
   * caller's own key.
   */
  expires: string | null;
}>;

/** Input for changing a key; permissions can only be removed. X7. */
export type KeyChanges = Optional<{
  /** A label. */
  label: string;
  /** Its remaining permissions. */
  permissions: readonly Permission[];
}>;

/** Filters of the list of keys. X7. */
export type KeyFilters = Window &
  Optional<{
    /** Keys of this user; only admins can see those of others. */
    user_id: Id;
  }>;

/** API keys, ordered by id. X7. */
export interface Keys extends Lists<Key, KeyFilters>, Gets<Key>, Updates<Key, KeyChanges> {
  /**
   * Creates a key. Errors: `invalid_input`, `not_found` for its user, `not_permitted`; `secret_gone` if the
   * response was lost and the call was repeated: the key exists, but its secret is lost; revoke it and create
   * another one.
   *
   * @example
   * ```ts
   * const { key } = await carillon.keys.create({ label: 'Import', permissions: ['events:write'], expires: '30d' });
   * ```
   */
  create(input: KeyInput, options?: OnceOptions): Promise<IssuedKey>;
  /**
   * Revokes a key immediately; the hooks of its user stay (C23). Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * await carillon.keys.revoke('7');
   * ```
   */
  revoke(id: Id, options?: ChangeOptions): Promise<void>;
}

/** API keys at `/keys`. */
export function keys(send: Send): Keys {
  return {
    ...lists<Key, KeyFilters>(send, 'keys', 'id'),
    ...gets<Key>(send, 'keys'),
    create: async (input, options) =>
      withSecret<IssuedKey>(await send({ ...options, method: 'POST', path: ['keys'], body: input }), 'key'),
    ...updates<Key, KeyChanges>(send, 'keys'),
    revoke: deletes(send, 'keys').delete,
  };
}

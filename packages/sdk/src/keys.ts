import type { DateText, Flag, Id, IdOrNone, Optional, PageWindow } from './api-types.ts';
import {
  buildDeleteMethod,
  buildGetMethod,
  buildListMethods,
  buildUpdateMethod,
  type GetMethod,
  type ListMethods,
  type UpdateMethod,
} from './resource-methods.ts';
import { recordWithSecretOf } from './response-body.ts';
import type { ChangeOptions, PostOptions, Send } from './transport.ts';

/**
 * The areas of permissions. Subtasks and time entries belong to `tasks`, contacts to `clients`, comments to `projects`,
 * and teams to `users` (C2).
 */
export const permissionAreas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

/** One of {@link permissionAreas}. */
export type PermissionArea = (typeof permissionAreas)[number];

/** One permission of a key, such as `events:read` (C2). */
export type Permission = `${PermissionArea}:${'read' | 'write'}`;

/** An API key as returned by the service. The service does not store the secret itself (X7). */
export type ApiKey = {
  /** Identifier of the key. */
  readonly id: string;
  /** Label by which the owner recognizes the key. */
  readonly label: string;
  /** Owner of the key. */
  readonly user_id: string;
  /** The operations that the key allows, such as `events:read`. */
  readonly permissions: readonly Permission[];
  /** When the key was issued, UTC. */
  readonly date_created: DateText;
  /** When the key was last used, UTC, with a resolution of one minute. */
  readonly last_used: DateText;
  /** When the key expires, UTC. */
  readonly expires: DateText;
  /** Whether the key was revoked. */
  readonly revoked: Flag;
};

/** A created API key with its secret, which is returned only once (X7). */
export type IssuedKey = ApiKey & {
  /** The secret. Only the response to the creation contains it. */
  readonly key: string;
};

/** Input for creating a key (X7). */
export type KeyInput = Optional<{
  /** Label by which the owner recognizes the key. */
  label: string;
  /** Permissions of the key; at most those of the caller's own key. */
  permissions: readonly Permission[];
  /** Owner of the key; default (also for `0`, `""` and `null`): the caller. */
  user_id: IdOrNone;
  /**
   * Expiry of the key: a duration such as `30d` or `12h`, or `YYYY-MM-DD HH:MM:SS` in UTC. Default (also for `null`):
   * the expiry of the caller's own key.
   */
  expires: string | null;
}>;

/** Input for changing a key. Permissions can only be removed (X7). */
export type KeyChanges = Optional<{
  /** New label of the key. */
  label: string;
  /** Remaining permissions of the key. */
  permissions: readonly Permission[];
}>;

/** Filters of the list of keys (X7). */
export type KeyFilters = PageWindow &
  Optional<{
    /** Only keys of this user; only admins can see keys of other users. */
    user_id: Id;
  }>;

/** Methods for API keys; lists are ordered by id (X7). */
export interface Keys extends ListMethods<ApiKey, KeyFilters>, GetMethod<ApiKey>, UpdateMethod<ApiKey, KeyChanges> {
  /**
   * Creates a key. Errors: `invalid_input`, `not_found` for its user, `not_permitted`; `secret_gone` if the response
   * was lost and the call was repeated. In this case the key exists, but its secret is lost: revoke it and create
   * another one.
   *
   * @example
   * ```ts
   * const { key } = await carillon.keys.create({ label: 'Import', permissions: ['events:write'], expires: '30d' });
   * ```
   */
  create(input: KeyInput, options?: PostOptions): Promise<IssuedKey>;
  /**
   * Revokes a key immediately. The hooks of the user stay (C23). Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * await carillon.keys.revoke('7');
   * ```
   */
  revoke(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Creates the methods for API keys at `/keys`. */
export function createKeyMethods(send: Send): Keys {
  return {
    ...buildListMethods<ApiKey, KeyFilters>(send, 'keys', 'id'),
    ...buildGetMethod<ApiKey>(send, 'keys'),
    create: async (input, options) =>
      recordWithSecretOf<IssuedKey>(await send({ ...options, method: 'POST', path: ['keys'], body: input }), 'key'),
    ...buildUpdateMethod<ApiKey, KeyChanges>(send, 'keys'),
    revoke: buildDeleteMethod(send, 'keys').delete,
  };
}

import type { DateText, Flag, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { deletes, type Gets, gets, type Updates, updates } from './resource.ts';
import { issuedOf } from './response-body.ts';
import type { ChangeOptions, OnceOptions, Send } from './transport.ts';

/**
 * What permissions are for: subtasks and time entries go with tasks, contacts with clients, comments with projects, teams with
 * users. C2.
 */
export const permissionAreas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

/** One of {@link permissionAreas}. */
export type PermissionArea = (typeof permissionAreas)[number];

/** One permission of a key. C2. */
export type Permission = `${PermissionArea}:${'read' | 'write'}`;

/** An API key as it is read; the secret itself is not kept. X7. */
export type Key = {
  /** Identifier of the key. */
  readonly id: string;
  /** What it is for. */
  readonly label: string;
  /** Whose key it is. */
  readonly user_id: string;
  /** What it may do. */
  readonly permissions: readonly Permission[];
  /** When it was issued, UTC. */
  readonly date_created: DateText;
  /** When it was last used, UTC, to the minute. */
  readonly last_used: DateText;
  /** When it ends by itself, UTC. */
  readonly expires: DateText;
  /** It has been revoked. */
  readonly revoked: Flag;
};

/** An API key at the one moment when it can be seen. X7. */
export type IssuedKey = Key & {
  /** The secret: shown once, in this answer alone. */
  readonly key: string;
};

/** What a key is issued from. X7. */
export type KeyInput = Optional<{
  /** What it is for. */
  label: string;
  /** Never wider than the caller's own key. */
  permissions: readonly Permission[];
  /** Whose key it will be; `0`, `""`, `null` or left out: the caller's own. */
  user_id: IdOrNone;
  /** A duration, `30d` or `12h`, or `YYYY-MM-DD HH:MM:SS` in UTC; `null` or left out: when the caller's own key ends. */
  expires: string | null;
}>;

/** What can be changed of a key; what it may do only becomes less. X7. */
export type KeyChanges = Optional<{
  /** What it is for. */
  label: string;
  /** What it may do from now on: never what it may not do already. */
  permissions: readonly Permission[];
}>;

/** Filters of the list of keys. X7. */
export type KeyFilters = Window &
  Optional<{
    /** Whose keys; admins see those of all, others their own. */
    user_id: Id;
  }>;

/** API keys, ordered by id. X7. */
export interface Keys extends Lists<Key, KeyFilters>, Gets<Key>, Updates<Key, KeyChanges> {
  /**
   * Issues a key. Errors: `invalid_input`, `not_found` for its user, `not_permitted`; `secret_gone` when the answer was
   * lost and the call was repeated: the key is there, nobody has its secret; revoke it and issue another.
   */
  create(input: KeyInput, options?: OnceOptions): Promise<IssuedKey>;
  /** Ends a key at once; its user's hooks stay (C23). Errors: `not_found`, `not_permitted`. */
  revoke(id: Id, options?: ChangeOptions): Promise<void>;
}

/** API keys at `/keys`. */
export function keys(send: Send): Keys {
  return {
    ...lists<Key, KeyFilters>(send, 'keys', 'id'),
    ...gets<Key>(send, 'keys'),
    create: async (input, options) =>
      issuedOf<IssuedKey>(await send({ ...options, method: 'POST', path: ['keys'], body: input }), 'key'),
    ...updates<Key, KeyChanges>(send, 'keys'),
    revoke: deletes(send, 'keys').delete,
  };
}

import {
  type Creates,
  creates,
  deletes,
  type Gets,
  gets,
  type Lists,
  lists,
  type Updates,
  updates,
} from './resource.ts';
import type { CallOptions, Send } from './transport.ts';
import type { DateText, Flag, Id, Optional, Window } from './wire.ts';

/** What permissions are for; subtasks go with tasks. C2. */
export const permissionAreas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

/** One of {@link permissionAreas}. */
export type PermissionArea = (typeof permissionAreas)[number];

/** One permission of a key. C2. */
export type Permission = `${PermissionArea}:${'read' | 'write'}`;

/** An API key as it is read; the secret itself is not kept. X7. */
export type Key = {
  readonly id: string;
  readonly label: string;
  /** Whose key it is. */
  readonly user_id: string;
  readonly permissions: readonly Permission[];
  readonly date_created: DateText;
  readonly last_used: DateText;
  readonly expires: DateText;
  readonly revoked: Flag;
};

/** An API key at the one moment when it can be seen. X7. */
export type IssuedKey = Key & {
  /** The secret: shown once, in this answer alone; an answer that is repeated (`idempotencyKey`) is without it. */
  readonly key: string;
};

/** What a key is issued from. X7. */
export type KeyInput = Optional<{
  label: string;
  /** Never wider than the caller's own key. */
  permissions: readonly Permission[];
  /** Whose key it will be; the caller's own when left out. */
  user_id: Id;
  expires: string;
}>;

/** What can be changed of a key; what it may do only becomes less. X7. */
export type KeyChanges = Optional<{
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
export interface Keys
  extends Lists<Key, KeyFilters>,
    Gets<Key>,
    Creates<IssuedKey, KeyInput>,
    Updates<Key, KeyChanges> {
  /** Ends a key at once; its user's hooks stay (C23). Errors: `not_found`, `not_permitted`. */
  revoke(id: Id, options?: CallOptions): Promise<void>;
}

/** API keys at `/keys`. */
export function keys(send: Send): Keys {
  return {
    ...lists<Key, KeyFilters>(send, 'keys'),
    ...gets<Key>(send, 'keys'),
    ...creates<IssuedKey, KeyInput>(send, 'keys'),
    ...updates<Key, KeyChanges>(send, 'keys'),
    revoke: deletes(send, 'keys').delete,
  };
}

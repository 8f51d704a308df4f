const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

export type Permission = `${(typeof areas)[number]}:${'read' | 'write'}`;

/** Every permission a key can carry (C2). */
export const permissions: readonly Permission[] = areas.flatMap((area) => [`${area}:read`, `${area}:write`] as const);

/** In ascending order. Where the contract says "admin", owners are included. */
export const roles = ['member', 'admin', 'owner'] as const;

export type Role = (typeof roles)[number];

/** The authenticated caller of a request, found by key and domain or by a console session. */
export type Caller = {
  readonly accountId: number;
  readonly userId: number;
  readonly role: Role;
  /** 0 for a console session. */
  readonly keyId: number;
  /** 0 for an API key. */
  readonly sessionId: number;
  readonly permissions: ReadonlySet<Permission>;
  /**
   * Expiry of the key, milliseconds since the epoch; null for never. Also null for a session, because keys that
   * it issues outlive it.
   */
  readonly expiresAt: number | null;
};

/**
 * The actor of an action, for the audit log; user and key are 0 if unknown. `source` is the caller's IP
 * address or one of the names below.
 */
export type Actor = { readonly userId: number; readonly keyId: number; readonly source: string };

const noCaller = (source: string): Actor => ({ userId: 0, keyId: 0, source });

/** Actors without a request. */
export const ENGINE = noCaller('engine');
export const COMMAND_LINE = noCaller('command line');
export const FIRST_START = noCaller('first start');

export function isPermission(text: string): text is Permission {
  return (permissions as readonly string[]).includes(text);
}

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

export function isAdmin(caller: { readonly role: Role }): boolean {
  return caller.role !== 'member';
}

export function outranks(role: Role, other: Role): boolean {
  return roles.indexOf(role) > roles.indexOf(other);
}

/** The permissions of a role. A key never has more permissions than its user (C2). */
export function permissionsOf(role: Role): readonly Permission[] {
  if (role !== 'member') return permissions;
  return permissions.filter((permission) => permission !== 'users:write' && permission !== 'company:write');
}

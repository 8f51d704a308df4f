/** Who may do what: permissions, roles, and the caller of a request. */

const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

export type Permission = `${(typeof areas)[number]}:${'read' | 'write'}`;

/** Every permission a key can carry (C2). */
export const permissions: readonly Permission[] = areas.flatMap((area) => [`${area}:read`, `${area}:write`] as const);

/** Least to most. Admins and owners are "admins" wherever the contract says so. */
export const roles = ['member', 'admin', 'owner'] as const;

export type Role = (typeof roles)[number];

/** Who is calling, as found by key and domain, or by the session of the console. */
export type Caller = {
  readonly accountId: number;
  readonly userId: number;
  readonly role: Role;
  /** 0 in the console. */
  readonly keyId: number;
  /** 0 with a key. */
  readonly sessionId: number;
  readonly permissions: ReadonlySet<Permission>;
  /** When the key ends, milliseconds since the epoch; null for never, and for a session: what it issues outlives it. */
  readonly expiresAt: number | null;
};

/**
 * Who acts, as the audit log names them: user and key are 0 where nobody is known. `source` is the caller's address, or
 * one of the words below.
 */
export type Actor = { readonly userId: number; readonly keyId: number; readonly source: string };

const noCaller = (source: string): Actor => ({ userId: 0, keyId: 0, source });

/** Those who act without calling. */
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

/** Whether `role` stands above `other`. */
export function outranks(role: Role, other: Role): boolean {
  return roles.indexOf(role) > roles.indexOf(other);
}

/** What a user of this role may do at most; a key is never wider than its user (C2). */
export function permissionsOf(role: Role): readonly Permission[] {
  if (role !== 'member') return permissions;
  return permissions.filter((permission) => permission !== 'users:write' && permission !== 'company:write');
}

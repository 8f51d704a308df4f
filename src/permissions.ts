const permissionAreas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'] as const;

export type Permission = `${(typeof permissionAreas)[number]}:${'read' | 'write'}`;

/** All permissions that an API key can have (C2). */
export const permissions: readonly Permission[] = permissionAreas.flatMap(
  (area) => [`${area}:read`, `${area}:write`] as const,
);

/** The roles of users, in ascending order. Rules for admins apply to owners as well. */
export const roles = ['member', 'admin', 'owner'] as const;

export type Role = (typeof roles)[number];

/** The authenticated caller of a request, found by key and domain or by a console session. */
export type Caller = {
  readonly accountId: number;
  readonly userId: number;
  readonly role: Role;
  /** Id of the API key; 0 for a console session. */
  readonly keyId: number;
  /** Id of the console session; 0 for an API key. */
  readonly sessionId: number;
  readonly permissions: ReadonlySet<Permission>;
  /**
   * Expiry of the API key, milliseconds since the epoch; null for never. Also null for a console session: an API key
   * that is issued in a session may outlive the session.
   */
  readonly expiresAt: number | null;
};

/**
 * The actor of an audited action. User and key are 0 if unknown. `source` is the IP address of the caller, or the name
 * of an actor without a request, such as `command line`.
 */
export type Actor = { readonly userId: number; readonly keyId: number; readonly source: string };

const createActorWithoutRequest = (source: string): Actor => ({ userId: 0, keyId: 0, source });

/** The actor of the dispatcher's own actions, such as ending a failing hook. */
export const DISPATCHER_ACTOR = createActorWithoutRequest('engine');
/** The actor of commands on the database. */
export const COMMAND_LINE_ACTOR = createActorWithoutRequest('command line');
/** The actor that creates the first account, when a service starts with an empty database. */
export const FIRST_START_ACTOR = createActorWithoutRequest('first start');

export function isPermission(text: string): text is Permission {
  return (permissions as readonly string[]).includes(text);
}

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

/** Whether a caller has the role admin or owner. */
export function isAdmin(caller: { readonly role: Role }): boolean {
  return caller.role !== 'member';
}

export function outranks(role: Role, otherRole: Role): boolean {
  return roles.indexOf(role) > roles.indexOf(otherRole);
}

/** The permissions of a role. A key never has more permissions than its user (C2). */
export function permissionsOf(role: Role): readonly Permission[] {
  if (role !== 'member') return permissions;
  return permissions.filter((permission) => permission !== 'users:write' && permission !== 'company:write');
}

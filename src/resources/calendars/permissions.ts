import { isPermission, type Permission, permissionsOf, type Role } from '../../permissions.ts';

/** Permissions that a calendar can use: events, tasks with subtasks, and the names of projects and users. */
export const needed = ['events:read', 'tasks:read', 'projects:read', 'users:read'] as const satisfies Permission[];

/** Permissions of a calendar: those stored at its creation that the role of its user still has. */
export function reachOf(permissions: string, role: Role): ReadonlySet<Permission> {
  const own = permissionsOf(role);
  return new Set(permissions.split(',').filter((one) => isPermission(one) && own.includes(one)) as Permission[]);
}

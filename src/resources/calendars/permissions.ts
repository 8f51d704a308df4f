import { isPermission, type Permission, permissionsOf, type Role } from '../../permissions.ts';

/** What there is to be read in a calendar: events, tasks with subtasks, and the names of projects and of people. */
export const needed = ['events:read', 'tasks:read', 'projects:read', 'users:read'] as const satisfies Permission[];

/** What a calendar may show: what its maker could read then, as far as its user still may. */
export function reachOf(permissions: string, role: Role): ReadonlySet<Permission> {
  const own = permissionsOf(role);
  return new Set(permissions.split(',').filter((one) => isPermission(one) && own.includes(one)) as Permission[]);
}

import { type Permission, type PermissionArea, permissionAreas } from '../../../../packages/sdk/src/keys.ts';
import type { Role } from '../../../../packages/sdk/src/people.ts';

export const ways = ['read', 'write'] as const;

export type Way = (typeof ways)[number];

/** All permissions in display order. */
export const everyPermission: readonly Permission[] = permissionAreas.flatMap((area) =>
  ways.map((way): Permission => `${area}:${way}`),
);

/** Maximum permissions of a key, by the role of its user. */
export function widest(role: Role): readonly Permission[] {
  if (role !== 'member') return everyPermission;
  return everyPermission.filter((permission) => permission !== 'users:write' && permission !== 'company:write');
}

/** Display name and description of each area. */
export const areaNames: Readonly<Record<PermissionArea, { readonly name: string; readonly says: string }>> = {
  events: { name: 'Events', says: 'the calendar' },
  clients: { name: 'Clients', says: 'whom projects are for, and their contacts' },
  projects: { name: 'Projects', says: 'and what is said in them' },
  tasks: { name: 'Tasks', says: 'their subtasks, and the time on them' },
  hooks: { name: 'Hooks', says: 'and the feed, and deliveries' },
  keys: { name: 'Keys', says: 'never wider than this one' },
  users: { name: 'People', says: 'and teams; changed by admins alone' },
  company: { name: 'Account', says: 'its name and address' },
};

/** Summary of permissions: `Reads everything`, `Changes events, tasks`. */
export function inWords(permissions: readonly Permission[]): readonly string[] {
  if (permissions.length === 0) return ['May only ask who it is'];
  if (permissions.length === everyPermission.length) return ['Everything'];
  const areasOf = (way: Way) => permissionAreas.filter((area) => permissions.includes(`${area}:${way}`));
  const summary = (verb: string, areas: readonly PermissionArea[]) => {
    if (areas.length === 0) return [];
    const missing = permissionAreas.filter((area) => !areas.includes(area));
    const namesOf = (some: readonly PermissionArea[]) =>
      some.map((area) => areaNames[area].name.toLowerCase()).join(', ');
    if (missing.length === 0) return [`${verb} everything`];
    return [missing.length < 3 ? `${verb} all but ${namesOf(missing)}` : `${verb} ${namesOf(areas)}`];
  };
  return [...summary('Reads', areasOf('read')), ...summary('Changes', areasOf('write'))];
}

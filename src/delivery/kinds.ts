import type { Permission } from '../access.ts';

/** The nouns whose records are told of: where a record is fetched, and which permission opens it. */
export const nouns = {
  client: { collection: '/clients', permission: 'clients:read' },
  event: { collection: '/events', permission: 'events:read' },
  project: { collection: '/projects', permission: 'projects:read' },
  task: { collection: '/tasks', permission: 'tasks:read' },
  subtask: { collection: '/subtasks', permission: 'tasks:read' },
  user: { collection: '/users', permission: 'users:read' },
  hook: { collection: '/hooks', permission: 'hooks:read' },
} as const satisfies Record<string, { collection: string; permission: Permission }>;

export type Noun = keyof typeof nouns;

/** What can happen, and to which noun. `hooks`: one of the specification's seven, which a hook can name (section 6). */
const table = {
  completed_subtask: { noun: 'subtask', hooks: true },
  completed_task: { noun: 'task', hooks: true },
  new_client: { noun: 'client', hooks: true },
  new_event: { noun: 'event', hooks: true },
  new_project: { noun: 'project', hooks: true },
  new_subtask: { noun: 'subtask', hooks: true },
  new_task: { noun: 'task', hooks: true },
  changed_client: { noun: 'client', hooks: false },
  changed_event: { noun: 'event', hooks: false },
  changed_project: { noun: 'project', hooks: false },
  changed_subtask: { noun: 'subtask', hooks: false },
  changed_task: { noun: 'task', hooks: false },
  changed_user: { noun: 'user', hooks: false },
  deleted_client: { noun: 'client', hooks: false },
  deleted_event: { noun: 'event', hooks: false },
  deleted_project: { noun: 'project', hooks: false },
  deleted_subtask: { noun: 'subtask', hooks: false },
  deleted_task: { noun: 'task', hooks: false },
  deleted_user: { noun: 'user', hooks: false },
  new_user: { noun: 'user', hooks: false },
} as const satisfies Record<string, { noun: Noun; hooks: boolean }>;

/** A kind of occurrence. All of them are recorded. */
export type Kind = keyof typeof table;

export const kinds: Readonly<Record<Kind, { noun: Noun; hooks: boolean }>> = table;

/** The seven kinds that a hook can name. */
export const hookKinds = (Object.keys(kinds) as Kind[]).filter((kind) => kinds[kind].hooks);

/** What a delivery can be of: an occurrence, or a test of the hook itself (X1). */
export type DeliveryKind = Kind | 'test';

export function isHookKind(text: unknown): text is Kind {
  return hookKinds.some((kind) => kind === text);
}

/** What the record of a delivery is. */
export function nounOf(kind: DeliveryKind): Noun {
  return kind === 'test' ? 'hook' : kinds[kind].noun;
}

/** C11: what a key must be allowed to read, so that its hook can name the kind. */
export function permissionFor(kind: DeliveryKind): Permission {
  return nouns[nounOf(kind)].permission;
}

/** Where the record of a delivery is fetched, on the service at `baseUrl` (C10). */
export function resourceUrl(baseUrl: string, kind: DeliveryKind, recordId: number): string {
  return `${baseUrl}/v2${nouns[nounOf(kind)].collection}/${recordId}`;
}

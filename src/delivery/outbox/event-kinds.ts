import type { Permission } from '../../permissions.ts';

/**
 * The resource types that webhooks can name, with the path of their records, the field that contains the id of a
 * record, and the permission to read the records.
 */
export const resourceTypes = {
  client: { collection: '/clients', key: 'client_id', permission: 'clients:read' },
  comment: { collection: '/comments', key: 'comment_id', permission: 'projects:read' },
  contact: { collection: '/contacts', key: 'contact_id', permission: 'clients:read' },
  event: { collection: '/events', key: 'event_id', permission: 'events:read' },
  project: { collection: '/projects', key: 'project_id', permission: 'projects:read' },
  subtask: { collection: '/subtasks', key: 'subtask_id', permission: 'tasks:read' },
  task: { collection: '/tasks', key: 'task_id', permission: 'tasks:read' },
  team: { collection: '/teams', key: 'team_id', permission: 'users:read' },
  time_entry: { collection: '/time_entries', key: 'entry_id', permission: 'tasks:read' },
  user: { collection: '/users', key: 'user_id', permission: 'users:read' },
  hook: { collection: '/hooks', key: 'hook_id', permission: 'hooks:read' },
} as const satisfies Record<string, { collection: string; key: string; permission: Permission }>;

export type ResourceType = keyof typeof resourceTypes;

/** Resource types whose records appear in the feed (X2). */
export type RecordResourceType = Exclude<ResourceType, 'hook'>;

export const recordResourceTypes = (Object.keys(resourceTypes) as ResourceType[]).filter(
  (resourceType) => resourceType !== 'hook',
);

/** Returns the name of the table of a resource type. */
export const tableNameOf = (resourceType: RecordResourceType): string =>
  resourceTypes[resourceType].collection.slice(1);

/** The seven event kinds that the `event` of a hook can name (specification, section 6). */
export const hookKinds = [
  'completed_subtask',
  'completed_task',
  'new_client',
  'new_event',
  'new_project',
  'new_subtask',
  'new_task',
] as const satisfies readonly `${'completed' | 'new'}_${RecordResourceType}`[];

/** Further kinds (X11), besides those that every resource type has. */
const otherKinds = [
  'reopened_subtask',
  'reopened_task',
  'assigned_project',
  'assigned_subtask',
  'assigned_task',
] as const satisfies readonly `${'reopened' | 'assigned'}_${RecordResourceType}`[];

const recordVerbs = ['changed', 'deleted', 'new'] as const;

/**
 * An event kind: the kind of an occurrence (domain event). All kinds appear in the feed, and the `events` of a hook can
 * name all of them.
 */
export type OccurrenceKind =
  | (typeof hookKinds)[number]
  | (typeof otherKinds)[number]
  | `${(typeof recordVerbs)[number]}_${RecordResourceType}`;

const resourceTypeOfKindName = (kind: string) => kind.slice(kind.indexOf('_') + 1) as RecordResourceType;

/** The resource type of every event kind. */
const resourceTypesByKind = Object.fromEntries(
  [
    ...hookKinds,
    ...otherKinds,
    ...recordVerbs.flatMap((verb) => recordResourceTypes.map((resourceType) => `${verb}_${resourceType}` as const)),
  ].map((kind) => [kind, resourceTypeOfKindName(kind)]),
) as Readonly<Record<OccurrenceKind, RecordResourceType>>;

/** All event kinds. */
export const occurrenceKinds = Object.keys(resourceTypesByKind) as readonly OccurrenceKind[];

/** The kind of a delivery: the event kind of its occurrence, or `test` for a test of the hook (X1). */
export type DeliveryKind = OccurrenceKind | 'test';

export function isHookKind(text: unknown): text is (typeof hookKinds)[number] {
  return hookKinds.some((kind) => kind === text);
}

export function isOccurrenceKind(text: unknown): text is OccurrenceKind {
  return typeof text === 'string' && Object.hasOwn(resourceTypesByKind, text);
}

/** Returns the resource type of the record that a delivery names. */
export function resourceTypeOf(kind: DeliveryKind): ResourceType {
  return kind === 'test' ? 'hook' : resourceTypesByKind[kind];
}

/** Returns the permission that an API key needs to subscribe a hook to the kind (C11). */
export function permissionFor(kind: DeliveryKind): Permission {
  return resourceTypes[resourceTypeOf(kind)].permission;
}

/** Returns the `resource_url` of a delivery: the address of the record on the service at `baseUrl` (C10). */
export function buildResourceUrl(baseUrl: string, kind: DeliveryKind, recordId: number): string {
  return `${baseUrl}/v2${resourceTypes[resourceTypeOf(kind)].collection}/${recordId}`;
}

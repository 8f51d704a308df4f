import type { Hook } from './hooks.ts';
import type { GetMethod } from './resource-methods.ts';
import type { CalendarEvent, Client, Project, Subtask, Task } from './resources.ts';
import type { CallOptions } from './transport.ts';

type RecordsByResourceType = {
  events: CalendarEvent;
  clients: Client;
  projects: Project;
  tasks: Task;
  subtasks: Subtask;
  /** The `resource_url` of a test notification is the hook itself (X1). */
  hooks: Hook;
};

/** The record that a notification names, and its resource type. */
export type NotifiedRecord = {
  [ResourceType in keyof RecordsByResourceType]: {
    /** The type of the record, as in the path of its URL. */
    readonly resourceType: ResourceType;
    /** The record in its current state. */
    readonly record: RecordsByResourceType[ResourceType];
  };
}[keyof RecordsByResourceType];

/** The resources of the records that a notification can name. */
export type NotifiableResources = {
  readonly [ResourceType in keyof RecordsByResourceType]: GetMethod<RecordsByResourceType[ResourceType]>;
};

type RecordReader = (resources: NotifiableResources, id: string, options?: CallOptions) => Promise<NotifiedRecord>;

const recordReaders: Readonly<Record<keyof RecordsByResourceType, RecordReader>> = {
  events: async ({ events }, id, options) => ({ resourceType: 'events', record: await events.get(id, options) }),
  clients: async ({ clients }, id, options) => ({ resourceType: 'clients', record: await clients.get(id, options) }),
  projects: async ({ projects }, id, options) => ({
    resourceType: 'projects',
    record: await projects.get(id, options),
  }),
  tasks: async ({ tasks }, id, options) => ({ resourceType: 'tasks', record: await tasks.get(id, options) }),
  subtasks: async ({ subtasks }, id, options) => ({
    resourceType: 'subtasks',
    record: await subtasks.get(id, options),
  }),
  hooks: async ({ hooks }, id, options) => ({ resourceType: 'hooks', record: await hooks.get(id, options) }),
};

function isResourceType(resourceType: string): resourceType is keyof RecordsByResourceType {
  return Object.hasOwn(recordReaders, resourceType);
}

/**
 * Fetches the record at `resourceUrl`. First checks that the URL belongs to the service: anyone can POST a forged
 * notification, and the request carries the API key.
 */
export async function fetchNotifiedRecord(
  resources: NotifiableResources,
  apiRoot: string,
  resourceUrl: string,
  options?: CallOptions,
): Promise<NotifiedRecord> {
  const { resourceType, id } = parseRecordUrl(apiRoot, resourceUrl);
  return recordReaders[resourceType](resources, id, options);
}

/** Parses the URL of a record. Throws a TypeError unless it is exactly the URL of a record below `apiRoot`. */
export function parseRecordUrl(
  apiRoot: string,
  resourceUrl: string,
): { readonly resourceType: NotifiedRecord['resourceType']; readonly id: string } {
  const { href } = new URL(resourceUrl);
  const relativePath = href.startsWith(`${apiRoot}/`) ? href.slice(apiRoot.length + 1) : '';
  const [resourceType = '', id = '', ...extraSegments] = relativePath.split('/');
  if (!isResourceType(resourceType) || !/^\d+$/.test(id) || extraSegments.length > 0) {
    throw new TypeError(`${JSON.stringify(resourceUrl)} is not the URL of a record below ${apiRoot}.`);
  }
  return { resourceType, id };
}

import type { FeedResourceType } from './api-types.ts';
import type { Hook } from './hooks.ts';
import type { User } from './people.ts';
import type { GetMethod } from './resource-methods.ts';
import type { CalendarEvent, Client, Comment, Contact, Project, Subtask, Task, Team, TimeEntry } from './resources.ts';
import type { CallOptions } from './transport.ts';

type RecordsByResourceType = {
  events: CalendarEvent;
  clients: Client;
  contacts: Contact;
  projects: Project;
  tasks: Task;
  subtasks: Subtask;
  time_entries: TimeEntry;
  comments: Comment;
  teams: Team;
  users: User;
  /** The `resource_url` of a test notification is the hook itself (X1). */
  hooks: Hook;
};

/** Records by the type in the names of event kinds. */
export type RecordsByFeedResourceType = {
  [T in FeedResourceType]: RecordsByResourceType[T extends 'time_entry'
    ? 'time_entries'
    : `${Exclude<T, 'time_entry'>}s`];
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

/** Name of the property of a client for each type of record. */
type ResourceName<ResourceType> = ResourceType extends 'time_entries' ? 'timeEntries' : ResourceType;

/** The resources of the records that a notification can name. */
export type NotifiableResources = {
  readonly [ResourceType in keyof RecordsByResourceType as ResourceName<ResourceType>]: GetMethod<
    RecordsByResourceType[ResourceType]
  >;
};

/** Names of the properties of a client by the type in the path of a record's URL. */
const resourceNames: { readonly [T in keyof RecordsByResourceType]: ResourceName<T> } = {
  events: 'events',
  clients: 'clients',
  contacts: 'contacts',
  projects: 'projects',
  tasks: 'tasks',
  subtasks: 'subtasks',
  time_entries: 'timeEntries',
  comments: 'comments',
  teams: 'teams',
  users: 'users',
  hooks: 'hooks',
};

function isResourceType(resourceType: string): resourceType is keyof RecordsByResourceType {
  return Object.hasOwn(resourceNames, resourceType);
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
  const record = await resources[resourceNames[resourceType]].get(id, options);
  return { resourceType, record } as NotifiedRecord;
}

/** The URL of a record of a type that this version knows. */
type RecordAddress = { readonly resourceType: NotifiedRecord['resourceType']; readonly id: string };

/** Parses the URL of a record. Throws a TypeError unless it is exactly the URL of a known record below `apiRoot`. */
function parseRecordUrl(apiRoot: string, resourceUrl: string): RecordAddress {
  const recordAddress = parseNotifiedUrl(apiRoot, resourceUrl);
  if (recordAddress === undefined) throw createUrlError(apiRoot, resourceUrl);
  return recordAddress;
}

/**
 * Parses the URL of a record in a notification or in the feed. Returns undefined for a type of record that only later
 * versions know. Throws a TypeError for the URL of anything else.
 */
export function parseNotifiedUrl(apiRoot: string, resourceUrl: string): RecordAddress | undefined {
  const { href } = new URL(resourceUrl);
  const relativePath = href.startsWith(`${apiRoot}/`) ? href.slice(apiRoot.length + 1) : '';
  const [resourceType = '', id = '', ...extraSegments] = relativePath.split('/');
  if (!/^[a-z_]+$/.test(resourceType) || !/^\d+$/.test(id) || extraSegments.length > 0)
    throw createUrlError(apiRoot, resourceUrl);
  return isResourceType(resourceType) ? { resourceType, id } : undefined;
}

const createUrlError = (apiRoot: string, resourceUrl: string) =>
  new TypeError(`${JSON.stringify(resourceUrl)} is not the URL of a record below ${apiRoot}.`);

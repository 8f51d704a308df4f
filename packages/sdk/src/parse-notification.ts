import type { Client } from './clients.ts';
import type { CalendarEvent } from './events.ts';
import type { Hook } from './hooks.ts';
import type { Project } from './projects.ts';
import type { Gets } from './resource.ts';
import type { Subtask } from './subtasks.ts';
import type { Task } from './tasks.ts';
import type { CallOptions } from './transport.ts';

type NotifiedRecords = {
  events: CalendarEvent;
  clients: Client;
  projects: Project;
  tasks: Task;
  subtasks: Subtask;
  /** What a test notification names. X1. */
  hooks: Hook;
};

/** The record that a notification names. */
export type Notified = {
  [ResourceType in keyof NotifiedRecords]: {
    /** The type of the record, as in the path of its address. */
    readonly resourceType: ResourceType;
    /** The record as it is now. */
    readonly record: NotifiedRecords[ResourceType];
  };
}[keyof NotifiedRecords];

/** The resources that a notification can name. */
export type NotifyingResourceTypes = { readonly [Noun in keyof NotifiedRecords]: Gets<NotifiedRecords[Noun]> };

type Reader = (resourceTypes: NotifyingResourceTypes, id: string, options?: CallOptions) => Promise<Notified>;

const readers: Readonly<Record<keyof NotifiedRecords, Reader>> = {
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

function isResourceType(resourceType: string): resourceType is keyof NotifiedRecords {
  return Object.hasOwn(readers, resourceType);
}

/** Reads the record at `resourceUrl` if that is a record's address below `root`; anybody can POST to a target. */
export async function notified(
  resourceTypes: NotifyingResourceTypes,
  root: string,
  resourceUrl: string,
  options?: CallOptions,
): Promise<Notified> {
  const { resourceType, id } = recordAt(root, resourceUrl);
  return readers[resourceType](resourceTypes, id, options);
}

/** Which record `resourceUrl` names: a TypeError unless it is the address of one below `root`, and nothing else. */
export function recordAt(
  root: string,
  resourceUrl: string,
): { readonly resourceType: Notified['resourceType']; readonly id: string } {
  const { href } = new URL(resourceUrl);
  const below = href.startsWith(`${root}/`) ? href.slice(root.length + 1) : '';
  const [resourceType = '', id = '', ...more] = below.split('/');
  if (!isResourceType(resourceType) || !/^\d+$/.test(id) || more.length > 0) {
    throw new TypeError(`${JSON.stringify(resourceUrl)} is not the address of a record below ${root}.`);
  }
  return { resourceType, id };
}

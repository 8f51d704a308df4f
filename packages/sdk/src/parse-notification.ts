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

/** The record that a notification names: `noun` tells its type. */
export type Notified = {
  [Noun in keyof NotifiedRecords]: { readonly noun: Noun; readonly record: NotifiedRecords[Noun] };
}[keyof NotifiedRecords];

/** The nouns that a notification can name. */
export type NotifyingNouns = { readonly [Noun in keyof NotifiedRecords]: Gets<NotifiedRecords[Noun]> };

type Reader = (nouns: NotifyingNouns, id: string, options?: CallOptions) => Promise<Notified>;

const readers: Readonly<Record<keyof NotifiedRecords, Reader>> = {
  events: async ({ events }, id, options) => ({ noun: 'events', record: await events.get(id, options) }),
  clients: async ({ clients }, id, options) => ({ noun: 'clients', record: await clients.get(id, options) }),
  projects: async ({ projects }, id, options) => ({ noun: 'projects', record: await projects.get(id, options) }),
  tasks: async ({ tasks }, id, options) => ({ noun: 'tasks', record: await tasks.get(id, options) }),
  subtasks: async ({ subtasks }, id, options) => ({ noun: 'subtasks', record: await subtasks.get(id, options) }),
  hooks: async ({ hooks }, id, options) => ({ noun: 'hooks', record: await hooks.get(id, options) }),
};

function isNoun(noun: string): noun is keyof NotifiedRecords {
  return Object.hasOwn(readers, noun);
}

/** Reads the record at `resourceUrl` if that is a record's address below `root`; anybody can POST to a target. */
export async function notified(
  nouns: NotifyingNouns,
  root: string,
  resourceUrl: string,
  options?: CallOptions,
): Promise<Notified> {
  const { noun, id } = recordAt(root, resourceUrl);
  return readers[noun](nouns, id, options);
}

/** Which record `resourceUrl` names: a TypeError unless it is the address of one below `root`, and nothing else. */
export function recordAt(root: string, resourceUrl: string): { readonly noun: Notified['noun']; readonly id: string } {
  const { href } = new URL(resourceUrl);
  const below = href.startsWith(`${root}/`) ? href.slice(root.length + 1) : '';
  const [noun = '', id = '', ...more] = below.split('/');
  if (!isNoun(noun) || !/^\d+$/.test(id) || more.length > 0) {
    throw new TypeError(`${JSON.stringify(resourceUrl)} is not the address of a record below ${root}.`);
  }
  return { noun, id };
}

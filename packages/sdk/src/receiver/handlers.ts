import { type DateText, type Kind, kinds } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Client } from '../clients.ts';
import { CarillonError } from '../errors.ts';
import type { CalendarEvent } from '../events.ts';
import type { Notification } from '../notifications.ts';
import type { Project } from '../projects.ts';
import type { Gets } from '../resource.ts';
import type { Subtask } from '../subtasks.ts';
import type { Task } from '../tasks.ts';

/** The record that each kind is about. */
export type RecordOf = {
  completed_subtask: Subtask;
  completed_task: Task;
  new_client: Client;
  new_event: CalendarEvent;
  new_project: Project;
  new_subtask: Subtask;
  new_task: Task;
};

/** What is known of an occurrence beside its record. */
export type Context = {
  readonly kind: Kind;
  /**
   * Its place in the account. The same each time it is told, should it be told again: what was done under a cursor is done.
   */
  readonly cursor: string;
  readonly resourceUrl: string;
  readonly occurredAt: DateText;
  /** Who caused it. */
  readonly userId: string;
  /** The receiver's own client, for further calls. */
  readonly carillon: Carillon;
  /** Aborted when the receiver is stopped: it then waits for the handler. */
  readonly signal: AbortSignal;
};

/**
 * Does the work for one kind; awaited. It has happened when this resolves, so that has to be durable by then. When it
 * throws, it is called again with the same occurrence, and nothing behind it is handled before.
 */
export type Handler<K extends Kind> = (record: RecordOf[K], context: Context) => unknown;

/** A handler for each kind that is wanted. */
export type Handlers = { readonly [K in Kind]?: Handler<K> | undefined };

/**
 * The kinds that there is a handler for.
 *
 * @throws TypeError for a name that is no kind a hook can name
 */
export function kindsOf(on: Handlers): readonly Kind[] {
  const strange = Object.keys(on).find((name) => !Object.hasOwn(resourceTypes, name));
  if (strange !== undefined)
    throw new TypeError(`"on.${strange}" is none of ${Object.keys(resourceTypes).join(', ')}.`);
  const handled = kinds.filter((kind) => on[kind] !== undefined);
  const wrong = handled.find((kind) => typeof on[kind] !== 'function');
  if (wrong !== undefined) throw new TypeError(`"on.${wrong}" is no function.`);
  return handled;
}

const resourceTypes: { readonly [K in Kind]: (carillon: Carillon) => Gets<RecordOf[K]> } = {
  completed_subtask: ({ subtasks }) => subtasks,
  completed_task: ({ tasks }) => tasks,
  new_client: ({ clients }) => clients,
  new_event: ({ events }) => events,
  new_project: ({ projects }) => projects,
  new_subtask: ({ subtasks }) => subtasks,
  new_task: ({ tasks }) => tasks,
};

/**
 * Rejects where the key may not read what a kind is about: the feed leaves that out without a word, and the cursor would
 * move past it.
 */
export async function mustBeReadable(carillon: Carillon, some: readonly Kind[], signal: AbortSignal): Promise<void> {
  // There is no record 0, but who may not read any is told that first.
  await Promise.all(some.map((kind) => found<unknown>(resourceTypes[kind](carillon).get('0', { signal }))));
}

/** A handler has thrown; the `cause` is what. */
export class HandlerFailed extends Error {
  readonly context: Context;

  constructor(context: Context, cause: unknown) {
    super(`The handler of ${context.kind} has thrown.`, { cause });
    this.context = context;
  }
}

/** Reads the record and calls the handler of its kind. A record that was deleted since is done with. */
export async function handle<K extends Kind>(on: Handlers, kind: K, id: string, context: Context): Promise<void> {
  const { carillon, signal } = context;
  const record = await found(resourceTypes[kind](carillon).get(id, { signal }));
  if (record === undefined) return;
  try {
    await on[kind]?.(record, context);
  } catch (error) {
    throw new HandlerFailed(context, error);
  }
}

async function found<T>(record: Promise<T>): Promise<T | undefined> {
  try {
    return await record;
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'not_found') return undefined;
    throw error;
  }
}

export function contextOf(entry: Notification, kind: Kind, carillon: Carillon, signal: AbortSignal): Context {
  const { cursor, resource_url: resourceUrl, occurred_at: occurredAt, user_id: userId } = entry;
  return { kind, cursor, resourceUrl, occurredAt, userId, carillon, signal };
}

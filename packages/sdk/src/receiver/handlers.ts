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

/** Properties of an occurrence in addition to its record. */
export type Context = {
  readonly kind: Kind;
  /**
   * Its position in the account, the same if the handler is called again: use it to detect duplicates.
   */
  readonly cursor: string;
  readonly resourceUrl: string;
  readonly occurredAt: DateText;
  /** The user who caused it. */
  readonly userId: string;
  /** The receiver's own client, for further calls. */
  readonly carillon: Carillon;
  /** Aborted when the receiver is stopped; `stop` waits for the handler. */
  readonly signal: AbortSignal;
};

/**
 * Handles occurrences of one kind. Its work has to be durable when it resolves. If it throws, it is called
 * again with the same occurrence, and later occurrences wait.
 */
export type Handler<K extends Kind> = (record: RecordOf[K], context: Context) => unknown;

/** Handlers by kind. */
export type Handlers = { readonly [K in Kind]?: Handler<K> | undefined };

/**
 * The kinds that have a handler.
 *
 * @throws TypeError for an unknown kind
 */
export function kindsOf(on: Handlers): readonly Kind[] {
  const unknown = Object.keys(on).find((name) => !Object.hasOwn(resourceTypes, name));
  if (unknown !== undefined)
    throw new TypeError(`"on.${unknown}" is none of ${Object.keys(resourceTypes).join(', ')}.`);
  const handled = kinds.filter((kind) => on[kind] !== undefined);
  const wrong = handled.find((kind) => typeof on[kind] !== 'function');
  if (wrong !== undefined) throw new TypeError(`"on.${wrong}" is not a function.`);
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
 * Rejects if the key may not read the records of a kind: the feed would omit their entries silently, and the
 * cursor would move past them.
 */
export async function mustBeReadable(carillon: Carillon, some: readonly Kind[], signal: AbortSignal): Promise<void> {
  // Record 0 does not exist, but a missing permission is reported before that.
  await Promise.all(some.map((kind) => found<unknown>(resourceTypes[kind](carillon).get('0', { signal }))));
}

/** A handler has thrown the `cause`. */
export class HandlerFailed extends Error {
  readonly context: Context;

  constructor(context: Context, cause: unknown) {
    super(`The handler of ${context.kind} failed.`, { cause });
    this.context = context;
  }
}

/** Fetches the record and calls the handler of its kind. A deleted record is skipped. */
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

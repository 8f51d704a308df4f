import { type DateText, type FeedKind, feedKinds } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { FeedEntry } from '../notifications.ts';
import type { RecordsByFeedResourceType } from '../parse-notification.ts';

/** The event kind in {@link HandlersByKind} of all occurrences without another handler. */
export const ANY_KIND = '*';

/** An event kind that can have a handler, or `*` for all kinds without another handler. */
export type HandledKind = FeedKind | typeof ANY_KIND;

type RecordOf<K extends FeedKind> = K extends `deleted_${string}`
  ? undefined
  : K extends `${string}_${infer T extends keyof RecordsByFeedResourceType}`
    ? RecordsByFeedResourceType[T]
    : never;

/** Types of the records by event kind (kind of occurrence). The record of `deleted_…` is `undefined`. */
export type RecordsByKind = {
  [K in HandledKind]: K extends FeedKind ? RecordOf<K> : RecordOf<FeedKind>;
};

/** Details of an occurrence that a handler gets in addition to the record. */
export type OccurrenceContext = {
  readonly kind: FeedKind;
  /**
   * Position of the occurrence in the account's feed. It is the same if the handler is called again, so use it to
   * detect duplicates.
   */
  readonly cursor: string;
  readonly resourceUrl: string;
  readonly occurredAt: DateText;
  /** The user who caused the occurrence. */
  readonly userId: string;
  /** The project of the record, or the project itself; `"0"` for none. */
  readonly projectId: string;
  /** The project that the record left with this change; `"0"` for none. */
  readonly previousProjectId: string;
  /** Names of the changed fields, for kinds that begin with `changed_`; otherwise empty. */
  readonly fields: readonly string[];
  /** The client of the receiver, for further calls. */
  readonly carillon: Carillon;
  /** Aborted when the receiver is stopped. `stop` waits for the handler. */
  readonly signal: AbortSignal;
};

/**
 * Handles occurrences of one kind. The work has to be durable when the handler resolves. If the handler throws, it is
 * called again with the same occurrence, and later occurrences wait.
 */
export type OccurrenceHandler<K extends HandledKind> = (
  record: RecordsByKind[K],
  context: OccurrenceContext,
) => unknown;

/**
 * Handlers by event kind. The handler `*` gets the occurrences of all kinds that have no handler of their own, also of
 * kinds that later versions of the service add. It does not get types of records that this version does not know.
 */
export type HandlersByKind = { readonly [K in HandledKind]?: OccurrenceHandler<K> | undefined };

const handledKinds: readonly HandledKind[] = [...feedKinds, ANY_KIND];

/**
 * Returns the kinds that have a handler.
 *
 * @throws TypeError for an unknown kind, or a handler that is not a function
 */
export function getHandledKinds(handlers: HandlersByKind): readonly HandledKind[] {
  const unknownKind = Object.keys(handlers).find((name) => !handledKinds.some((kind) => kind === name));
  if (unknownKind !== undefined) throw new TypeError(`"on.${unknownKind}" is none of ${handledKinds.join(', ')}.`);
  const kinds = handledKinds.filter((kind) => handlers[kind] !== undefined);
  const invalidKind = kinds.find((kind) => typeof handlers[kind] !== 'function');
  if (invalidKind !== undefined) throw new TypeError(`"on.${invalidKind}" is not a function.`);
  return kinds;
}

/**
 * Rejects if the key may not read the records of one of the kinds. Otherwise the feed would silently omit their
 * entries, and the cursor would move past them.
 */
export async function requireReadPermission(
  carillon: Carillon,
  requiredKinds: readonly HandledKind[],
  { apiRoot, signal }: { readonly apiRoot: string; readonly signal: AbortSignal },
): Promise<void> {
  const resourceTypes = requiredKinds.flatMap((kind) => (kind === ANY_KIND ? [] : kind.slice(kind.indexOf('_') + 1)));
  const collections = new Set(resourceTypes.map((type) => (type === 'time_entry' ? 'time_entries' : `${type}s`)));
  // Record 0 does not exist. The service checks the permission first, so `not_found` means that the key has it.
  await Promise.all(
    [...collections].map((collection) =>
      undefinedIfNotFound<unknown>(carillon.fetchNotifiedRecord(`${apiRoot}/${collection}/0`, { signal })),
    ),
  );
}

/** Error of a handler. `cause` is the value that the handler has thrown. */
export class HandlerError extends Error {
  readonly context: OccurrenceContext;

  constructor(context: OccurrenceContext, cause: unknown) {
    super(`The handler of ${context.kind} failed.`, { cause });
    this.context = context;
  }
}

/**
 * Fetches the record of an occurrence, and calls the handler of `handledKind`. For a deletion, the handler gets no
 * record. Skips any other occurrence whose record was deleted: its deletion is a later occurrence.
 */
export async function callOccurrenceHandler<K extends HandledKind>(
  handlers: HandlersByKind,
  handledKind: K,
  context: OccurrenceContext,
): Promise<void> {
  const { carillon, kind, resourceUrl, signal } = context;
  const isDeletion = kind.startsWith('deleted_');
  const notified = isDeletion
    ? undefined
    : await undefinedIfNotFound(carillon.fetchNotifiedRecord(resourceUrl, { signal }));
  if (notified === undefined && !isDeletion) return;
  try {
    await handlers[handledKind]?.(notified?.record as RecordsByKind[K], context);
  } catch (error) {
    throw new HandlerError(context, error);
  }
}

async function undefinedIfNotFound<T>(recordPromise: Promise<T>): Promise<T | undefined> {
  try {
    return await recordPromise;
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'not_found') return undefined;
    throw error;
  }
}

export function createOccurrenceContext(entry: FeedEntry, carillon: Carillon, signal: AbortSignal): OccurrenceContext {
  const { cursor, kind, resource_url: resourceUrl, occurred_at: occurredAt, user_id: userId } = entry;
  // Earlier versions of the service have no projects and fields in the feed.
  const { project_id: projectId = '0', previous_project_id: previousProjectId = '0', fields = [] } = entry;
  return {
    ...{ kind, cursor, resourceUrl, occurredAt, userId, projectId, previousProjectId, fields },
    ...{ carillon, signal },
  };
}

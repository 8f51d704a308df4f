import { type DateText, type FeedKind, feedKinds } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { FeedEntry } from '../notifications.ts';
import { parseRecordUrl, type RecordsByFeedResourceType } from '../parse-notification.ts';
import { fieldOf } from '../response-body.ts';
import { withTimeout } from '../runtime.ts';
import type { SignedRequest } from './verify-signature.ts';

/** Maximum size of the body of a notification, which contains one URL of at most 2,048 characters. */
const MAX_BODY_BYTES = 4 * 1_024;

/** Maximum number of handled deliveries, and of occurrences, in their cache. */
const MAX_CACHED_IDS = 10_000;
/** Maximum length of the id of a delivery in the cache. Ids of the service have a few digits. */
const MAX_ID_LENGTH = 64;

/** A received request, independent of the HTTP framework. */
export type NotificationRequest = {
  readonly method: string;
  /** Returns a header by its lower-case name; undefined if it is missing. */
  getHeader(name: string): string | undefined;
  /** Returns the body; undefined if it is larger than `maxBytes` or cut off. */
  readText(maxBytes: number): Promise<string | undefined>;
};

/** A response with a short text as its body. */
export type NotificationResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

/** Handles one request. Never rejects. */
export type NotificationHandler = (request: NotificationRequest) => Promise<NotificationResponse>;

export type NotificationHandlerOptions = {
  /** URL of the API, with which every `resource_url` of the service begins. */
  readonly apiRoot: string;
  /** Checks the signature of a request; undefined if signatures are not checked. */
  readonly verifySignature: ((signedRequest: SignedRequest) => Promise<boolean>) | undefined;
  /** Handles all occurrences that the feed contains now. Rejects with an error that was already reported. */
  readonly catchUp: () => Promise<void>;
  /** Whether this occurrence was found in the feed, and handled. */
  readonly isHandled: (occurrence: OccurrenceIdentity) => boolean;
  /** Maximum time until the response, in milliseconds. */
  readonly timeoutMs: number;
  readonly onError: (error: unknown) => void;
  /** Called if the occurrence of a notification was not handled, so that it is retried later. */
  readonly onPostponed: () => void;
};

/** Response that makes the service retry later. `Retry-After` can only lengthen the backoff of the service (C18). */
const RETRY_LATER_RESPONSE = createTextResponse(503, 'Not yet.', { 'retry-after': '1' });

/**
 * Creates the handler of notifications. It responds 200 when everything up to the notification is handled, 503 if that
 * fails or takes too long, and 4xx to a request that is not a notification of the service. It never responds 401, which
 * would end the hook (C17).
 */
export function createNotificationHandler({
  apiRoot,
  verifySignature,
  catchUp,
  isHandled,
  timeoutMs,
  onError,
  onPostponed,
}: NotificationHandlerOptions): NotificationHandler {
  const handledDeliveryIds = new Set<string>();

  async function respond(request: NotificationRequest, onNotification: () => void): Promise<NotificationResponse> {
    if (request.method !== 'POST')
      return createTextResponse(405, 'Notifications are POST requests.', { allow: 'POST' });
    if (!isJsonMediaType(request.getHeader('content-type'))) return createTextResponse(415, 'Notifications are JSON.');
    const body = await request.readText(MAX_BODY_BYTES);
    if (body === undefined) return createTextResponse(413, 'The body is too large or incomplete.');
    const signedRequest = signedRequestOf(request, body);
    if (verifySignature !== undefined && !(await verifySignature(signedRequest))) {
      onError(new Error('A notification has no valid signature, or its timestamp is too far from this clock.'));
      return createTextResponse(400, 'The signature is invalid.');
    }
    const notified = parseBody(body);
    if (notified === undefined) return createTextResponse(400, 'The body names no record of the service.');
    // A test notification names the hook itself (X1).
    if (notified.resourceType === 'hooks') return createTextResponse(200, 'Test received.');
    // The headers are not signed. They are hints: the feed has confirmed them if this occurrence was handled.
    const [cursor = '', kind = ''] = ['webhook-cursor', 'webhook-event'].map(request.getHeader);
    if (isHandled({ cursor, kind, resource_url: notified.resourceUrl }))
      return createTextResponse(200, 'Already handled.');
    onNotification();
    return catchUpAndRespond(signedRequest.id);
  }

  /** Returns the URL and the type of the record that a body names; undefined if this service did not send the body. */
  function parseBody(body: string) {
    try {
      const resourceUrl = String(fieldOf(JSON.parse(body), 'resource_url'));
      return { resourceUrl, ...parseRecordUrl(apiRoot, resourceUrl) };
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  async function catchUpAndRespond(id: string): Promise<NotificationResponse> {
    const catchUpResult = catchUp().then(
      () => true,
      () => {
        onPostponed();
        return false;
      },
    );
    // Catch up even if the id was already handled: a forged id must not make the receiver skip entries of the feed.
    if (handledDeliveryIds.has(id)) return createTextResponse(200, 'Already handled.');
    if (!(await catchUpResult)) return RETRY_LATER_RESPONSE;
    if (id !== '' && id.length <= MAX_ID_LENGTH) addToCache(handledDeliveryIds, id);
    return createTextResponse(200, 'Handled.');
  }

  return async (request) => {
    const reportAndRetryLater = (error: unknown) => {
      onError(error);
      return RETRY_LATER_RESPONSE;
    };
    let isNotification = false;
    const onNotification = () => {
      isNotification = true;
    };
    const response = await withTimeout(timeoutMs, respond(request, onNotification).catch(reportAndRetryLater));
    if (response === undefined && isNotification) {
      onPostponed();
      onError(new Error(`A notification was postponed: its occurrence was not handled within ${timeoutMs} ms.`));
    }
    return response ?? RETRY_LATER_RESPONSE;
  };
}

function createTextResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): NotificationResponse {
  return { status, text, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } };
}

function isJsonMediaType(mediaType = ''): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(mediaType.trim());
}

function signedRequestOf(request: NotificationRequest, body: string): SignedRequest {
  const getHeader = (name: string) => request.getHeader(name) ?? '';
  return {
    id: getHeader('webhook-id'),
    timestamp: getHeader('webhook-timestamp'),
    signatures: getHeader('webhook-signature'),
    body,
  };
}

/** The parts of a feed entry that a notification contains. */
export type OccurrenceIdentity = Readonly<Record<'cursor' | 'kind' | 'resource_url', string>>;

const keyOf = ({ cursor, kind, resource_url }: OccurrenceIdentity) => `${cursor} ${kind} ${resource_url}`;

/** Creates the cache of the last handled occurrences. Their notifications need no further sync. */
export function createHandledCache() {
  const handledKeys = new Set<string>();
  return {
    add: (entry: FeedEntry) => addToCache(handledKeys, keyOf(entry)),
    has: (occurrence: OccurrenceIdentity) => handledKeys.has(keyOf(occurrence)),
  };
}

/** Adds an id to the cache, and evicts the oldest one if the cache is full. */
function addToCache(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size <= MAX_CACHED_IDS) return;
  for (const oldestId of ids) {
    ids.delete(oldestId);
    return;
  }
}

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
 * kinds that later versions of the service add.
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

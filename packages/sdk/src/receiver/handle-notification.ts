import { type DateText, type HookKind, hookKinds } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { FeedEntry } from '../notifications.ts';
import { parseRecordUrl } from '../parse-notification.ts';
import type { GetMethod } from '../resource-methods.ts';
import type { CalendarEvent, Client, Project, Subtask, Task } from '../resources.ts';
import { fieldOf } from '../response-body.ts';
import { withTimeout } from '../runtime.ts';
import type { SignedRequest } from './verify-signature.ts';

/** Maximum size of the body of a notification, which contains one URL of at most 2,048 characters. */
const MAX_BODY_BYTES = 4 * 1_024;

/** Maximum number of handled deliveries in the cache. */
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
    const resourceType = parseResourceType(body);
    if (resourceType === undefined) return createTextResponse(400, 'The body names no record of the service.');
    // A test notification names the hook itself (X1).
    if (resourceType === 'hooks') return createTextResponse(200, 'Test received.');
    onNotification();
    return catchUpAndRespond(signedRequest.id);
  }

  /**
   * Returns the resource type of the record that a body names; undefined if the body is not a notification of this
   * service.
   */
  function parseResourceType(body: string): string | undefined {
    try {
      return parseRecordUrl(apiRoot, String(fieldOf(JSON.parse(body), 'resource_url'))).resourceType;
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

/** Adds an id to the cache, and evicts the oldest one if the cache is full. */
function addToCache(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size <= MAX_CACHED_IDS) return;
  for (const oldestId of ids) {
    ids.delete(oldestId);
    return;
  }
}

/** Types of the records by event kind (kind of occurrence). */
export type RecordsByKind = {
  completed_subtask: Subtask;
  completed_task: Task;
  new_client: Client;
  new_event: CalendarEvent;
  new_project: Project;
  new_subtask: Subtask;
  new_task: Task;
};

/** Details of an occurrence that a handler gets in addition to the record. */
export type OccurrenceContext = {
  readonly kind: HookKind;
  /**
   * Position of the occurrence in the account's feed. It is the same if the handler is called again, so use it to
   * detect duplicates.
   */
  readonly cursor: string;
  readonly resourceUrl: string;
  readonly occurredAt: DateText;
  /** The user who caused the occurrence. */
  readonly userId: string;
  /** The client of the receiver, for further calls. */
  readonly carillon: Carillon;
  /** Aborted when the receiver is stopped. `stop` waits for the handler. */
  readonly signal: AbortSignal;
};

/**
 * Handles occurrences of one kind. The work has to be durable when the handler resolves. If the handler throws, it is
 * called again with the same occurrence, and later occurrences wait.
 */
export type OccurrenceHandler<K extends HookKind> = (record: RecordsByKind[K], context: OccurrenceContext) => unknown;

/** Handlers by event kind. */
export type HandlersByKind = { readonly [K in HookKind]?: OccurrenceHandler<K> | undefined };

/**
 * Returns the kinds that have a handler.
 *
 * @throws TypeError for an unknown kind, or a handler that is not a function
 */
export function getHandledKinds(handlers: HandlersByKind): readonly HookKind[] {
  const unknownKind = Object.keys(handlers).find((name) => !Object.hasOwn(resourceByKind, name));
  if (unknownKind !== undefined)
    throw new TypeError(`"on.${unknownKind}" is none of ${Object.keys(resourceByKind).join(', ')}.`);
  const kinds = hookKinds.filter((kind) => handlers[kind] !== undefined);
  const invalidKind = kinds.find((kind) => typeof handlers[kind] !== 'function');
  if (invalidKind !== undefined) throw new TypeError(`"on.${invalidKind}" is not a function.`);
  return kinds;
}

/** Functions that return the resource of a client from which the records of an event kind are fetched. */
const resourceByKind: { readonly [K in HookKind]: (carillon: Carillon) => GetMethod<RecordsByKind[K]> } = {
  completed_subtask: ({ subtasks }) => subtasks,
  completed_task: ({ tasks }) => tasks,
  new_client: ({ clients }) => clients,
  new_event: ({ events }) => events,
  new_project: ({ projects }) => projects,
  new_subtask: ({ subtasks }) => subtasks,
  new_task: ({ tasks }) => tasks,
};

/**
 * Rejects if the key may not read the records of one of the kinds. Otherwise the feed would silently omit their
 * entries, and the cursor would move past them.
 */
export async function requireReadPermission(
  carillon: Carillon,
  requiredKinds: readonly HookKind[],
  signal: AbortSignal,
): Promise<void> {
  // Record 0 does not exist. The service checks the permission first, so `not_found` means that the key has it.
  await Promise.all(
    requiredKinds.map((kind) => undefinedIfNotFound<unknown>(resourceByKind[kind](carillon).get('0', { signal }))),
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

/** Fetches the record of an occurrence, and calls the handler of its event kind. Skips a deleted record. */
export async function callOccurrenceHandler<K extends HookKind>(
  handlers: HandlersByKind,
  kind: K,
  id: string,
  context: OccurrenceContext,
): Promise<void> {
  const { carillon, signal } = context;
  const record = await undefinedIfNotFound(resourceByKind[kind](carillon).get(id, { signal }));
  if (record === undefined) return;
  try {
    await handlers[kind]?.(record, context);
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

export function createOccurrenceContext(
  entry: FeedEntry,
  kind: HookKind,
  carillon: Carillon,
  signal: AbortSignal,
): OccurrenceContext {
  const { cursor, resource_url: resourceUrl, occurred_at: occurredAt, user_id: userId } = entry;
  return { kind, cursor, resourceUrl, occurredAt, userId, carillon, signal };
}

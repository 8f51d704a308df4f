import type { FeedEntry } from '../notifications.ts';
import { parseNotifiedUrl } from '../parse-notification.ts';
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
    // A hook for all kinds also reports types of records of later versions. The feed sync skips them.
    if (notified.resourceType === undefined) return createTextResponse(200, 'This type of record is skipped.');
    // A test notification names the hook itself (X1).
    if (notified.resourceType === 'hooks') return createTextResponse(200, 'Test received.');
    // The headers are not signed. They are hints: the feed has confirmed them if this occurrence was handled.
    const [cursor = '', kind = ''] = ['webhook-cursor', 'webhook-event'].map(request.getHeader);
    if (isHandled({ cursor, kind, resource_url: notified.resourceUrl }))
      return createTextResponse(200, 'Already handled.');
    onNotification();
    return catchUpAndRespond(signedRequest.id);
  }

  /** Returns the URL of the record that a body names, and its type if it is known; undefined if this service did not send the body. */
  function parseBody(body: string) {
    try {
      const resourceUrl = String(fieldOf(JSON.parse(body), 'resource_url'));
      return { resourceUrl, resourceType: parseNotifiedUrl(apiRoot, resourceUrl)?.resourceType };
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

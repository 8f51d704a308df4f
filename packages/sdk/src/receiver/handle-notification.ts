import { recordAt } from '../parse-notification.ts';
import { fieldOf } from '../response-body.ts';
import type { Signed } from './signature.ts';
import { within } from './time.ts';

/** A notification contains one URL of at most 2,048 characters. */
const MAX_BODY_BYTES = 4 * 1_024;

/** Size of the cache of handled deliveries, and the maximum length of their ids, which are a few digits. */
const MAX_REMEMBERED_IDS = 10_000;
const MAX_ID_LENGTH = 64;

/** A request, independent of the HTTP framework. */
export type Posted = {
  readonly method: string;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /** The body; undefined if it is larger than `maxBytes` or cut off. */
  text(maxBytes: number): Promise<string | undefined>;
};

/** A response with a short plain text. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

/** Handles one request; never rejects. */
export type Answer = (posted: Posted) => Promise<Reply>;

export type Answering = {
  /** Prefix of every URL of the service. */
  readonly root: string;
  /** Undefined: signatures are not checked. */
  readonly verify: ((signed: Signed) => Promise<boolean>) | undefined;
  /** Resolves when all occurrences before the call are handled; reports its errors itself. */
  readonly catchUp: () => Promise<void>;
  /** Milliseconds until the response. */
  readonly timeoutMs: number;
  readonly onError: (error: unknown) => void;
  /** Called if the occurrence of a notification could not be handled in time. */
  readonly onPutOff: () => void;
};

/** C18: `Retry-After` can only lengthen the backoff of the service. */
const NOT_YET = reply(503, 'Not yet.', { 'retry-after': '1' });

/**
 * Responds to notifications: 200 when everything up to this one is handled, 503 if that fails or takes too
 * long, 4xx for anything that is not a notification of the service. Never 401, which would end the hook (C17).
 */
export function answering({ root, verify, catchUp, timeoutMs, onError, onPutOff }: Answering): Answer {
  const done = new Set<string>();

  async function respond(posted: Posted, onNotification: () => void): Promise<Reply> {
    if (posted.method !== 'POST') return reply(405, 'Notifications are POST requests.', { allow: 'POST' });
    if (!isJson(posted.header('content-type'))) return reply(415, 'Notifications are JSON.');
    const body = await posted.text(MAX_BODY_BYTES);
    if (body === undefined) return reply(413, 'The body is too large or incomplete.');
    const signed = signedOf(posted, body);
    if (verify !== undefined && !(await verify(signed))) {
      onError(new Error('A notification has no valid signature, or its timestamp is too far from this clock.'));
      return reply(400, 'The signature is invalid.');
    }
    const resourceType = resourceTypeIn(body);
    if (resourceType === undefined) return reply(400, 'The body names no record of the service.');
    // X1: a test notification names the hook itself.
    if (resourceType === 'hooks') return reply(200, 'Test received.');
    onNotification();
    return handleDelivery(signed.id);
  }

  /** The resource type of the record that a body names; undefined if it is not a notification of this service. */
  function resourceTypeIn(body: string): string | undefined {
    try {
      return recordAt(root, String(fieldOf(JSON.parse(body), 'resource_url'))).resourceType;
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  async function handleDelivery(id: string): Promise<Reply> {
    const isCaughtUp = catchUp().then(
      () => true,
      () => {
        onPutOff();
        return false;
      },
    );
    // The feed was read anyway: an untrusted sender must not make the receiver skip entries.
    if (done.has(id)) return reply(200, 'Already handled.');
    if (!(await isCaughtUp)) return NOT_YET;
    if (id !== '' && id.length <= MAX_ID_LENGTH) remember(done, id);
    return reply(200, 'Handled.');
  }

  return async (posted) => {
    const failed = (error: unknown) => {
      onError(error);
      return NOT_YET;
    };
    let isNotification = false;
    const onNotification = () => {
      isNotification = true;
    };
    const response = await within(timeoutMs, respond(posted, onNotification).catch(failed));
    if (response === undefined && isNotification) {
      onPutOff();
      onError(new Error(`A notification was postponed: its occurrence was not handled within ${timeoutMs} ms.`));
    }
    return response ?? NOT_YET;
  };
}

function reply(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, text, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } };
}

function isJson(mediaType = ''): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(mediaType.trim());
}

function signedOf(posted: Posted, body: string): Signed {
  const header = (name: string) => posted.header(name) ?? '';
  return {
    id: header('webhook-id'),
    timestamp: header('webhook-timestamp'),
    signatures: header('webhook-signature'),
    body,
  };
}

/** Adds an id, and evicts the oldest one if the cache is full. */
function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size <= MAX_REMEMBERED_IDS) return;
  for (const oldest of ids) {
    ids.delete(oldest);
    return;
  }
}

import { recordAt } from '../parse-notification.ts';
import { fieldOf } from '../response-body.ts';
import type { Signed } from './signature.ts';
import { within } from './time.ts';

/** A notification is an address, which has 2,048 characters at most; nobody else has more to say here. */
const MAX_BODY_BYTES = 4 * 1_024;

/** Deliveries that are remembered as done, and the length of their ids: those of the service are a few digits. */
const MAX_REMEMBERED_IDS = 10_000;
const MAX_ID_LENGTH = 64;

/** A request as the core of a receiver knows it, wherever it came from. */
export type Posted = {
  readonly method: string;
  /** A header by its name in small letters. */
  header(name: string): string | undefined;
  /** The body; undefined when it has more bytes than that, or breaks off. */
  text(mostBytes: number): Promise<string | undefined>;
};

/** What is answered, in a few words of plain text: whoever asks is a program. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

/** Answers one request; never rejects. */
export type Answer = (posted: Posted) => Promise<Reply>;

export type Answering = {
  /** Beginning of every address of the service. */
  readonly root: string;
  /** Undefined: signatures are not looked at. */
  readonly verify: ((signed: Signed) => Promise<boolean>) | undefined;
  /** Resolves when everything that happened before it was called is handled; says itself what went wrong. */
  readonly catchUp: () => Promise<void>;
  /** Milliseconds for one answer. */
  readonly timeoutMs: number;
  readonly onError: (error: unknown) => void;
  /** Called when what a notification tells of could not be handled, or takes too long. */
  readonly onPutOff: () => void;
};

/** C18: it can lengthen the wait of the service, and never shortens it. */
const NOT_YET = reply(503, 'Not yet.', { 'retry-after': '1' });

/**
 * Answers notifications: 200 when everything up to this one is handled, 503 when that failed or takes too long, 4xx for
 * what is no notification of our service. Never 401, which would end the hook (C17).
 */
export function answering({ root, verify, catchUp, timeoutMs, onError, onPutOff }: Answering): Answer {
  const done = new Set<string>();

  async function answer(posted: Posted, onTold: () => void): Promise<Reply> {
    if (posted.method !== 'POST') return reply(405, 'Notifications are POSTed.', { allow: 'POST' });
    if (!isJson(posted.header('content-type'))) return reply(415, 'Notifications are JSON.');
    const body = await posted.text(MAX_BODY_BYTES);
    if (body === undefined) return reply(413, 'No notification is as large.');
    const signed = signedOf(posted, body);
    if (verify !== undefined && !(await verify(signed))) {
      onError(new Error('A notification is not signed by any of the secrets, or not lately by this clock.'));
      return reply(400, 'The signature is wrong.');
    }
    const resourceType = resourceTypeIn(body);
    if (resourceType === undefined) return reply(400, 'The body names no record of the service.');
    // X1: a test, of whether anybody is here.
    if (resourceType === 'hooks') return reply(200, 'Here.');
    onTold();
    return told(signed.id);
  }

  /** The noun of the record that a body names; undefined for everything that is no notification of this service. */
  function resourceTypeIn(body: string): string | undefined {
    try {
      return recordAt(root, String(fieldOf(JSON.parse(body), 'resource_url'))).resourceType;
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  async function told(id: string): Promise<Reply> {
    const isCaughtUp = catchUp().then(
      () => true,
      () => {
        onPutOff();
        return false;
      },
    );
    // The feed is read nevertheless: the word of whoever sent it is not enough to leave something unread.
    if (done.has(id)) return reply(200, 'Known.');
    if (!(await isCaughtUp)) return NOT_YET;
    if (id !== '' && id.length <= MAX_ID_LENGTH) remember(done, id);
    return reply(200, 'Handled.');
  }

  return async (posted) => {
    const failed = (error: unknown) => {
      onError(error);
      return NOT_YET;
    };
    let isTold = false;
    const onTold = () => {
      isTold = true;
    };
    const answered = await within(timeoutMs, answer(posted, onTold).catch(failed));
    if (answered === undefined && isTold) {
      onPutOff();
      onError(new Error(`A notification is put off: what it tells of is not handled after ${timeoutMs} ms.`));
    }
    return answered ?? NOT_YET;
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

/** The oldest goes first. */
function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size <= MAX_REMEMBERED_IDS) return;
  for (const oldest of ids) {
    ids.delete(oldest);
    return;
  }
}

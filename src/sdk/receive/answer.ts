import { fieldOf } from '../envelope.ts';
import { recordAt } from '../notified.ts';
import type { Signed } from './signature.ts';
import { within } from './time.ts';

/** A notification is an address, which has 2,048 characters at most; nobody else has more to say here. */
const MOST_BYTES = 4 * 1_024;

/** Deliveries that are remembered as done. */
const MOST_REMEMBERED = 10_000;

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
  /** Called with each 503. */
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

  async function answer(posted: Posted): Promise<Reply> {
    if (posted.method !== 'POST') return reply(405, 'Notifications are POSTed.', { allow: 'POST' });
    if (!isJson(posted.header('content-type'))) return reply(415, 'Notifications are JSON.');
    const body = await posted.text(MOST_BYTES);
    if (body === undefined) return reply(413, 'No notification is as large.');
    const signed = signedOf(posted, body);
    if (verify !== undefined && !(await verify(signed))) return reply(400, 'The signature is wrong.');
    const noun = nounIn(body);
    if (noun === undefined) return reply(400, 'The body names no record of the service.');
    // X1: a test, of whether anybody is here.
    if (noun === 'hooks') return reply(200, 'Here.');
    return told(signed.id);
  }

  /** The noun of the record that a body names; undefined for everything that is no notification of this service. */
  function nounIn(body: string): string | undefined {
    try {
      return recordAt(root, String(fieldOf(JSON.parse(body), 'resource_url'))).noun;
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  async function told(id: string): Promise<Reply> {
    const isCaughtUp = catchUp().then(
      () => true,
      () => false,
    );
    // The feed is read nevertheless: the word of whoever sent it is not enough to leave something unread.
    if (done.has(id)) return reply(200, 'Known.');
    if (!(await isCaughtUp)) return NOT_YET;
    if (id !== '') remember(done, id);
    return reply(200, 'Handled.');
  }

  return async (posted) => {
    const failed = (error: unknown) => {
      onError(error);
      return NOT_YET;
    };
    const answered = (await within(timeoutMs, answer(posted).catch(failed))) ?? NOT_YET;
    if (answered === NOT_YET) onPutOff();
    return answered;
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
  if (ids.size <= MOST_REMEMBERED) return;
  for (const oldest of ids) {
    ids.delete(oldest);
    return;
  }
}

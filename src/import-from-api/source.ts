import type { Clock } from '../clock.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import { retryAfterMs } from './retry-after.ts';

/** Another service that speaks this interface, as it is read: one request at a time, and no more than it bears. */
export type Source = {
  /** A GET below `/v2`. Throws `TransferFault` where the service cannot be read. */
  get(path: readonly string[], query?: Readonly<Record<string, number>>): Promise<Reply>;
};

/** What the service has said: something; that there is no such thing; or that this key may not see it. */
export type Reply = { readonly state: 'found'; readonly body: unknown } | Missing;
export type Missing = { readonly state: 'absent' | 'refused'; readonly status: number };

export type SourceOptions = {
  /** Beginning of every address, without `/v2`. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** How many requests may begin within a second. */
  readonly rate: number;
  /** Hears why there is a wait. */
  readonly say: (line: string) => void;
};

const DEADLINE_MS = 90_000;

/** What one answer may take up, unpacked: a thousand records of the largest kind that this service takes. */
const MAX_RESPONSE_BYTES = 64 << 20;

/** An answer that is larger: a smaller page may not be. */
export class TooLarge extends TransferError {}

/** 1, 2, 4, … seconds: nearly four minutes in all. Who has never answered gets three tries: the address is wrong. */
const MAX_ATTEMPTS = 9;
const MAX_FIRST_ATTEMPTS = 3;
const MAX_WAIT_MS = 60_000;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** What passes by itself. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const ABSENT: ReadonlySet<number> = new Set([404, 405, 410, 501]);
const REFUSED: ReadonlySet<number> = new Set([401, 403]);

type Answered = {
  readonly status: number;
  readonly isJson: boolean;
  /** Undefined where there was more than may be. */
  readonly text: string | undefined;
  readonly location: string | null;
  readonly waitMs: number | undefined;
};
type Failed = { readonly failed: string };

export function createSource(options: SourceOptions): Source {
  const { base, clock, say } = options;
  let beganAt = Number.NEGATIVE_INFINITY;
  let hasAnswered = false;

  async function once(url: string): Promise<Answered | Failed> {
    await sleep(clock, beganAt + 1_000 / options.rate - clock.monotonic());
    beganAt = clock.monotonic();
    return exchange(options, url);
  }

  return {
    async get(path, query = {}) {
      const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
      const below = path.map((step) => `/${encodeURIComponent(step)}`).join('');
      const url = `${base}/v2${below}${search.size > 0 ? `?${search}` : ''}`;
      for (let tries = 1; ; tries += 1) {
        const answer = await once(url);
        const reply = replyOf(answer, url);
        if (reply !== undefined) {
          hasAnswered = true;
          return reply;
        }
        const why = reasonOf(answer);
        if (tries >= (hasAnswered ? MAX_ATTEMPTS : MAX_FIRST_ATTEMPTS)) throw given(url, why, tries);
        const waitMs = waitAfter(answer, tries);
        if (waitMs > MAX_RETRY_AFTER_MS) throw given(url, `${why}, and asks for more than a day`, tries);
        say(`${url}: ${why}; again in ${Math.ceil(waitMs / 1_000)} s`);
        await sleep(clock, waitMs);
      }
    },
  };
}

/** What an answer means; undefined where it passes by itself. */
function replyOf(answer: Answered | Failed, url: string): Reply | undefined {
  if ('failed' in answer || PASSING.has(answer.status)) return undefined;
  const { status, isJson, text = '', location } = answer;
  if (ABSENT.has(status)) return { state: 'absent', status };
  if (REFUSED.has(status)) return { state: 'refused', status };
  if (status >= 300 && status < 400)
    throw new TransferError(
      `${url} leads to ${location ?? 'another address'}: no redirect is followed, the key would go with it. --from-api must name the right address.`,
    );
  if (status !== 200) throw new TransferError(`${url} answers ${status}: ${JSON.stringify(text.slice(0, 200))}`);
  if (answer.text === undefined) throw new TooLarge(`${url} answers more than ${MAX_RESPONSE_BYTES >> 20} MiB.`);
  const body = parsed(text);
  if (body !== undefined) return { state: 'found', body };
  // Cut off in the middle: the next try may have all of it.
  if (isJson) return undefined;
  throw new TransferError(`${url} answers something that is not JSON: --from-api must name the service.`);
}

function reasonOf(answer: Answered | Failed): string {
  if ('failed' in answer) return answer.failed;
  return answer.status === 200 ? 'the answer was cut off' : `the answer is ${answer.status}`;
}

/** What is asked for is kept, in full; else each wait is twice as long as the one before. */
function waitAfter(answer: Answered | Failed, tries: number): number {
  const asked = 'failed' in answer ? undefined : answer.waitMs;
  return asked ?? Math.min(1_000 * 2 ** (tries - 1), MAX_WAIT_MS);
}

function given(url: string, why: string, tries: number): TransferError {
  return new TransferError(`${url} cannot be read, after ${tries} tries: ${why}.`);
}

async function exchange({ clock, headers }: SourceOptions, url: string): Promise<Answered | Failed> {
  const deadline = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () => deadline.abort());
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: deadline.signal });
    const text = await textOf(response);
    return {
      status: response.status,
      isJson: /^application\/([\w.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? ''),
      text,
      location: response.headers.get('location'),
      waitMs: retryAfterMs(response.headers.get('retry-after'), clock.now()),
    };
  } catch (error) {
    return { failed: deadline.signal.aborted ? `no answer within ${DEADLINE_MS / 1_000} s` : failureOf(error) };
  } finally {
    cancel();
  }
}

/** What an answer says, unpacked; undefined where it is more than may be, and the rest of it stays where it is. */
async function textOf({ body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > MAX_RESPONSE_BYTES) return undefined;
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** `fetch failed` says nothing; what failed stands in the cause. */
function failureOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sleep(clock: Clock, waitMs: number): Promise<void> {
  if (waitMs <= 0) return Promise.resolve();
  return new Promise((resolve) => void clock.after(waitMs, resolve));
}

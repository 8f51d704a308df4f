import { CarillonError } from './errors.ts';
import { messages } from './messages.ts';
import type { Notification } from './notifications.ts';
import { type Open, unexpected } from './transport.ts';
import type { FeedKind, Optional } from './wire.ts';

/** Waits before a lost connection is opened again: doubled from the first, which the service may set, to the longest. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** The service says something every 15 seconds: a connection that is silent for so long is lost. */
const LONGEST_SILENCE_MS = 45_000;

/** Where the feed is followed from, and what of it. X2. */
export type FollowFilters = Optional<{
  /** The cursor behind which to go on; left out: from the oldest that is kept. */
  after: string;
  kind: FeedKind;
  /** `account`: what anybody of the account did, for admins; default `own`. */
  scope: 'own' | 'account';
}>;

/** How following is ended. */
export type FollowOptions = {
  /** Aborted: there is no further entry, and no error. */
  readonly signal?: AbortSignal | undefined;
};

/** Follows the feed through server-sent events, over as many connections as it takes. */
export async function* followEvents(
  open: Open,
  filters: FollowFilters = {},
  { signal }: FollowOptions = {},
): AsyncGenerator<Notification, void, undefined> {
  let { after } = filters;
  let firstWaitMs = FIRST_WAIT_MS;
  let waitMs = FIRST_WAIT_MS;
  let isFirst = true;
  while (!signal?.aborted) {
    const silence = new Silence();
    const ending = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
    const query = { ...filters, after };
    try {
      const bytes = await open({ method: 'GET', path: ['notifications'], query, signal: ending });
      isFirst = false;
      for await (const { id, data, retryMs } of messages(bytes)) {
        firstWaitMs = retryMs ?? firstWaitMs;
        waitMs = firstWaitMs;
        after = id ?? after;
        // Whoever takes their time with an entry is not the service's silence.
        silence.end();
        if (data !== undefined) yield notificationIn(data);
        silence.begin();
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (isFirst || !isLoss(error)) throw error;
    } finally {
      silence.end();
    }
    await pause(waitMs, signal);
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  }
}

/** Whether the same may go well a little later; what the service has refused stays refused. */
function isLoss(error: unknown): boolean {
  // What breaks in the middle of a stream is the runtime's own error, of any kind.
  if (!(error instanceof CarillonError)) return true;
  return error.status === 0 || error.status >= 500 || error.status === 408 || error.status === 429;
}

function notificationIn(data: string): Notification {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw unexpected(200, 'An event of the stream is not JSON.', error);
  }
}

/** Aborts when nothing was heard for too long. */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.begin();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(): void {
    this.end();
    const lost = () => new CarillonError({ code: 'timeout', status: 0, message: 'The stream has fallen silent.' });
    this.#timer = setTimeout(() => this.#controller.abort(lost()), LONGEST_SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, waitMs);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}

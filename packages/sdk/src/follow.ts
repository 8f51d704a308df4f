import { CarillonError } from './errors.ts';
import { systemPorts } from './runtime.ts';
import { messages } from './sse-parser.ts';
import { type Call, type Open, unexpected } from './transport.ts';

/** Waits before a lost connection is opened again: doubled from the first, which the service may set, to the longest. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;

/** The service says something every 15 seconds: a connection that is silent for so long is lost. */
const SILENCE_TIMEOUT_MS = 45_000;

/** How following is ended. */
export type FollowOptions = {
  /** Aborted: there is no further entry, and no error. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Everything that a path tells as server-sent events, each parsed, over as many connections as it takes: every one goes
 * on behind the last event of the one before, by the query parameter `after`.
 */
export async function* followEvents<T>(
  open: Open,
  { path, query = {} }: Pick<Call, 'path' | 'query'>,
  { signal }: FollowOptions = {},
): AsyncGenerator<T, void, undefined> {
  let { after } = query;
  let firstWaitMs = FIRST_WAIT_MS;
  let waitMs = FIRST_WAIT_MS;
  let isFirst = true;
  while (!signal?.aborted) {
    const silence = new Silence();
    const ending = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
    try {
      const bytes = await open({ method: 'GET', path, query: { ...query, after }, signal: ending });
      isFirst = false;
      for await (const { id, data, retryMs } of messages(bytes)) {
        firstWaitMs = retryMs ?? firstWaitMs;
        waitMs = firstWaitMs;
        after = id ?? after;
        // Whoever takes their time with an entry is not the service's silence.
        silence.end();
        if (data !== undefined) yield parsed(data);
        silence.begin();
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (isFirst || !isLoss(error)) throw error;
    } finally {
      silence.end();
    }
    await systemPorts.pause(waitMs, signal);
    waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
  }
}

/** Whether the same may go well a little later; what the service has refused stays refused. */
function isLoss(error: unknown): boolean {
  // What breaks in the middle of a stream is the runtime's own error, of any kind.
  if (!(error instanceof CarillonError)) return true;
  return error.status === 0 || error.status >= 500 || error.status === 408 || error.status === 429;
}

/** Its fields are the service's promise. */
function parsed<T>(data: string): T {
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
    this.#timer = setTimeout(() => this.#controller.abort(lost()), SILENCE_TIMEOUT_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

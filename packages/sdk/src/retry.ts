import { CarillonError, type ProblemCode } from './errors.ts';
import { type Ports, systemPorts } from './runtime.ts';
import type { Answer, Call, Send } from './transport.ts';

/** The wait before the first repeat; doubled for each that follows up to the longest, and shortened by up to half at random. */
const FIRST_WAIT_MS = 500;

/** Who is asked to wait for longer is told so instead. */
const MAX_WAIT_MS = 60_000;

/** What calls are repeated by. */
export type RepeatOptions = {
  /** How often a call that says nothing else is repeated. */
  readonly retries: number;
  /** Milliseconds for a call that says nothing else, with all its repeats; 0 waits without limit. */
  readonly timeoutMs: number;
  /** Whether the service keeps answers by `Idempotency-Key`, so that a POST can be repeated. X4. */
  readonly keepsAnswers: boolean;
};

/**
 * Makes a call again when it may go well a little later and nothing can happen twice by it: a GET; a POST, which gets an
 * `Idempotency-Key` for it; a PUT and a DELETE without `ifMatch`. What the service says it has not done is repeated
 * whatever it was. X4.
 */
export function repeating(send: Send, options: RepeatOptions, ports: Ports = systemPorts): Send {
  return async (given) => {
    const { retries = options.retries, timeoutMs = options.timeoutMs } = given;
    if (!(retries > 0)) return send({ ...given, timeoutMs });
    const call = repeatable(given, options, ports);
    const endsAt = timeoutMs === 0 ? Number.POSITIVE_INFINITY : ports.now() + timeoutMs;
    const left = () => (timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(endsAt - ports.now())));
    let isUnsure = false;
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await send({ ...call, timeoutMs: left() });
      } catch (error) {
        if (!(error instanceof CarillonError)) throw error;
        // C28: an earlier try may have been the one that found it; it is gone, as was asked.
        if (isUnsure && call.method === 'DELETE' && error.code === 'not_found') return GONE;
        const waitMs = waitFor(error, repeats, ports);
        const isAgain = repeats < retries && mayPass(error) && (isUndone(error) || isSafe(call, options));
        if (!isAgain || waitMs > MAX_WAIT_MS || ports.now() + waitMs >= endsAt) throw error;
        isUnsure ||= !isUndone(error);
        await ports.pause(waitMs, call.signal);
        call.signal?.throwIfAborted();
      }
    }
  };
}

const GONE: Answer = { status: 200, headers: new Headers(), body: [] };

/** The call with a word of its own, and with its body as it is now: what becomes of the input later is no matter of it. */
function repeatable(call: Call, { keepsAnswers }: RepeatOptions, ports: Ports): Call {
  const body: unknown = call.body === undefined ? undefined : JSON.parse(JSON.stringify(call.body));
  const needsWord = keepsAnswers && call.method === 'POST' && call.idempotencyKey === undefined;
  return { ...call, body, ...(needsWord && { idempotencyKey: ports.word() }) };
}

const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether the same may go well a little later. A timeout is not that: it was the end of the whole call. */
function mayPass({ code, status }: CarillonError): boolean {
  return code === 'connection' || code === 'idempotency_in_progress' || PASSING.has(status);
}

/** What the service answers when it has not begun, or has written nothing. */
const UNDONE: ReadonlySet<ProblemCode> = new Set(['request_timeout', 'overloaded', 'storage_unavailable']);

function isUndone({ code, status }: CarillonError): boolean {
  return status === 429 || UNDONE.has(code);
}

/** Whether a call that may have been made already can be made again. After a change its `ifMatch` holds no more. */
function isSafe({ method, idempotencyKey, ifMatch }: Call, { keepsAnswers }: RepeatOptions): boolean {
  if (method === 'GET') return true;
  if (method === 'POST') return keepsAnswers && idempotencyKey !== undefined;
  return ifMatch === undefined;
}

function waitFor({ retryAfterS = 0 }: CarillonError, repeats: number, ports: Ports): number {
  const ownMs = Math.min(FIRST_WAIT_MS * 2 ** repeats, MAX_WAIT_MS) * (1 - ports.fraction() / 2);
  return Math.max(retryAfterS * 1_000, ownMs);
}

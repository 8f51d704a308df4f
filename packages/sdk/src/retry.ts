import { CarillonError, type ProblemCode } from './errors.ts';
import { type RuntimeDeps, systemDeps } from './runtime.ts';
import type { ApiCall, ApiResponse, Send } from './transport.ts';

/** Delay before the first retry. It doubles with each retry, up to a maximum. Jitter shortens it by up to half. */
const INITIAL_RETRY_DELAY_MS = 500;

/** Maximum delay before a retry. If `Retry-After` is longer, the call rejects instead of waiting. */
const MAX_RETRY_DELAY_MS = 60_000;

/** Options of a client for retries. */
export type RetryOptions = {
  /** Default maximum number of retries. */
  readonly retries: number;
  /** Default timeout of a call including its retries, in milliseconds; 0 means no timeout. */
  readonly timeoutMs: number;
  /** Whether the service stores responses by `Idempotency-Key`, so that a POST can be retried (X4). */
  readonly storesResponses: boolean;
};

/**
 * Adds retries to a `Send`. After a transient failure, it retries calls that are idempotent: a GET; a POST, which gets
 * an `Idempotency-Key`; a PUT or DELETE without `ifMatch`. Any call is retried if the service reports that it was not
 * executed (X4).
 */
export function withRetries(send: Send, options: RetryOptions, deps: RuntimeDeps = systemDeps): Send {
  return async (originalCall) => {
    const { retries = options.retries, timeoutMs = options.timeoutMs } = originalCall;
    if (!(retries > 0)) return send({ ...originalCall, timeoutMs });
    const call = toRepeatableCall(originalCall, options, deps);
    const deadlineAt = timeoutMs === 0 ? Number.POSITIVE_INFINITY : deps.now() + timeoutMs;
    const getRemainingMs = () => (timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(deadlineAt - deps.now())));
    let mayHaveExecuted = false;
    for (let retryCount = 0; ; retryCount += 1) {
      try {
        return await send({ ...call, timeoutMs: getRemainingMs() });
      } catch (error) {
        if (!(error instanceof CarillonError)) throw error;
        // An earlier attempt may have deleted the record, and its response was lost (C28).
        if (mayHaveExecuted && call.method === 'DELETE' && error.code === 'not_found')
          return createAlreadyDeletedResponse();
        const waitMs = computeRetryDelayMs(error, retryCount, deps);
        const isRetryable =
          retryCount < retries && isTransientError(error) && (wasNotExecuted(error) || isSafeToRepeat(call, options));
        if (!isRetryable || waitMs > MAX_RETRY_DELAY_MS || deps.now() + waitMs >= deadlineAt) throw error;
        mayHaveExecuted ||= !wasNotExecuted(error);
        await deps.pause(waitMs, call.signal);
        call.signal?.throwIfAborted();
      }
    }
  };
}

// Not a constant: in Node, the first use of `Headers` loads a large module.
const createAlreadyDeletedResponse = (): ApiResponse => ({ status: 200, headers: new Headers(), body: [] });

/**
 * Returns the call with an idempotency key, and with a copy of its body, so that later changes of the input have no
 * effect.
 */
function toRepeatableCall(call: ApiCall, { storesResponses }: RetryOptions, deps: RuntimeDeps): ApiCall {
  const body: unknown = call.body === undefined ? undefined : JSON.parse(JSON.stringify(call.body));
  const needsKey = storesResponses && call.method === 'POST' && call.idempotencyKey === undefined;
  return { ...call, body, ...(needsKey && { idempotencyKey: deps.createIdempotencyKey() }) };
}

const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether a retry may succeed. After the error `timeout`, no time is left for one. */
function isTransientError({ code, status }: CarillonError): boolean {
  return code === 'connection' || code === 'idempotency_in_progress' || TRANSIENT_STATUSES.has(status);
}

/** Error codes that mean that the call was not executed. */
const NOT_EXECUTED_CODES: ReadonlySet<ProblemCode> = new Set(['request_timeout', 'overloaded', 'storage_unavailable']);

function wasNotExecuted({ code, status }: CarillonError): boolean {
  return status === 429 || NOT_EXECUTED_CODES.has(code);
}

/**
 * Whether a call that may have been executed can be repeated. With `ifMatch` it cannot, because an executed change has
 * changed the ETag.
 */
function isSafeToRepeat({ method, idempotencyKey, ifMatch }: ApiCall, { storesResponses }: RetryOptions): boolean {
  if (method === 'GET') return true;
  if (method === 'POST') return storesResponses && idempotencyKey !== undefined;
  return ifMatch === undefined;
}

function computeRetryDelayMs({ retryAfterS = 0 }: CarillonError, retryCount: number, deps: RuntimeDeps): number {
  const backoffMs =
    Math.min(INITIAL_RETRY_DELAY_MS * 2 ** retryCount, MAX_RETRY_DELAY_MS) * (1 - deps.randomFraction() / 2);
  return Math.max(retryAfterS * 1_000, backoffMs);
}

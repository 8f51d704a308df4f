import { Carillon, type CarillonOptions, transportedBy } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import { apiKey } from '../transport.ts';
import {
  type Context,
  HandlerFailed,
  type Handlers,
  kindsOf,
  mustBeReadable,
  notificationHandler,
} from './handle-notification.ts';
import { type ManagedHooks, reconcileHooks } from './manage-hooks.ts';
import { type FastifyHandler, fastifyHandler, type NodeHandler, nodeHandler } from './node.ts';
import { coalesce, startPollLoop } from './poll-loop.ts';
import { type FeedSyncPorts, syncFeed } from './read-feed.ts';
import { verifier } from './signature.ts';
import { memoryState, type State } from './state.ts';
import { type WebHandler, webHandler } from './web.ts';

type OnError = (error: unknown, context?: Context) => unknown;

/** Options of a receiver. */
export type ReceiverOptions = {
  /** Public base URL of the service. Every `resource_url` has to begin with it. */
  readonly baseUrl: string | URL;
  /** Host name of the account. */
  readonly domain: string;
  /**
   * A key of the user whose occurrences are handled. It needs `hooks:read` and read permission for the records of the
   * kinds; with `at`, it also needs `hooks:write`.
   */
  readonly key: string;
  /** Handlers by kind of occurrence. */
  readonly on: Handlers;
  /**
   * URL of this receiver, with a part that cannot be guessed. `start` then creates a hook for each kind of `on`, with
   * the kind in the query of this URL. If omitted, create the hooks yourself.
   */
  readonly at?: string | URL | undefined;
  /** Storage of the cursor; default: in memory, which a restart loses. */
  readonly state?: State | undefined;
  /** Signing secrets, each `whsec_…`. If given, notifications must be signed by one of them. */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * Called with every error, and with the occurrence if a handler has thrown. Default: a process warning, if the
   * runtime has them. Errors that this function throws also become a process warning.
   */
  readonly onError?: OnError | undefined;
  /**
   * Called and awaited if entries after the cursor are no longer stored: the receiver was offline for 90 days, or the
   * service was restored from a backup. Read the lists here. The receiver then continues with the oldest stored entry.
   */
  readonly onGap?: ((error: CarillonError) => unknown) | undefined;
  /** Milliseconds after which a notification is postponed with 503; default 10,000. The service waits 15 seconds. */
  readonly timeoutMs?: number | undefined;
  /**
   * Interval at which the feed is polled without notifications, in milliseconds; default 5 minutes; 0 disables polling.
   */
  readonly everyMs?: number | undefined;
  /** Replaces the global `fetch` for requests to the service. */
  readonly fetch?: CarillonOptions['fetch'];
};

/**
 * Receives notifications and calls the handlers in order. After a failure, later occurrences wait. The members are
 * bound, so each of them can be passed on its own.
 */
export type Receiver = {
  /** Request handler for Deno, Bun and Workers; for Hono: `(c) => receiver.fetch(c.req.raw)`. */
  readonly fetch: WebHandler;
  /** Request handler for `node:http`, and for Express with or without a body parser. */
  readonly node: NodeHandler;
  /** Route handler for Fastify. */
  readonly fastify: FastifyHandler;
  /**
   * Creates missing hooks, handles missed occurrences, and makes the service retry postponed deliveries. Then polls
   * every `everyMs`. Call it when the server listens.
   *
   * Resolves after the first sync. Rejects with a `CarillonError` if the service rejects the key, a permission or the
   * target. If the service is unavailable or a handler has thrown, `onError` is called and the sync is retried. Rejects
   * after `stop`: a stopped receiver cannot be restarted.
   *
   * @example
   * ```ts
   * await receiver.start();
   * ```
   */
  start(): Promise<void>;
  /**
   * Stops handling, and resolves when the current handler has finished. Further notifications are postponed with 503.
   *
   * @example
   * ```ts
   * await receiver.stop();
   * ```
   */
  stop(): Promise<void>;
};

/**
 * Creates a receiver.
 *
 * @throws TypeError for an invalid URL, key, secret, handler, timeout or interval
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 *
 * const receiver = createReceiver({
 *   baseUrl: 'https://calendar.example',
 *   domain,
 *   key,
 *   at: 'https://app.example/bell-7f3k2q9d',
 *   on: { new_event: (event) => showEvent(event.event_name, event.start_date) },
 * });
 * createServer(receiver.node).listen(3000, () => receiver.start());
 * ```
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { on, state = memoryState(), timeoutMs = 10_000, everyMs = 300_000 } = options;
  if (!(timeoutMs > 0)) throw new TypeError('"timeoutMs" must be a number above 0.');
  if (!(everyMs >= 0)) throw new TypeError('"everyMs" must be a number of at least 0.');
  const stopping = new AbortController();
  const report = reporting(options.onError ?? warn, stopping.signal);
  const client = { baseUrl: options.baseUrl, auth: apiKey(options), timeoutMs, fetch: options.fetch };
  const carillon = new Carillon(client);
  const { root } = transportedBy(client);
  const own: ManagedHooks = { carillon, at: urlOf(options.at), kinds: kindsOf(on), signal: stopping.signal };
  let isReadable = false;
  let isSubscribed = false;
  const { onGap = report } = options;
  const reading: FeedSyncPorts = {
    ...{ carillon, root, on, own, state, signal: stopping.signal },
    onGap(error) {
      // A restored service may have lost the hooks, so the next poll creates them again.
      isSubscribed = false;
      return onGap(error);
    },
  };

  const round = coalesce(async () => {
    try {
      stopping.signal.throwIfAborted();
      if (!isReadable) await mustBeReadable(carillon, own.kinds, stopping.signal);
      isReadable = true;
      await (state.withLock === undefined ? syncFeed(reading) : state.withLock(() => syncFeed(reading)));
    } catch (error) {
      report(error);
      throw error;
    }
  });
  async function poll(): Promise<void> {
    await round.ask();
    const subscribing = !isSubscribed;
    // Set the flag before the call: if a gap is found meanwhile, `onGap` resets the flag, and the next poll creates the
    // hooks again.
    isSubscribed = true;
    try {
      // Reconcile the hooks after the sync: it has already handled the occurrences that they then deliver again.
      await reconcileHooks(own, subscribing);
    } catch (error) {
      if (subscribing) isSubscribed = false;
      report(error);
      throw error;
    }
  }
  const pollLoop = startPollLoop(poll, everyMs);
  const answer = notificationHandler({
    root,
    verify: options.secret === undefined ? undefined : verifier([options.secret].flat()),
    catchUp: round.ask,
    timeoutMs,
    onError: report,
    onPutOff: pollLoop.soon,
  });

  return {
    fetch: webHandler(answer),
    node: nodeHandler(answer),
    fastify: fastifyHandler(answer),
    async start() {
      stopping.signal.throwIfAborted();
      isSubscribed = false;
      pollLoop.begin();
      try {
        await poll();
      } catch (error) {
        if (isPermanent(error)) {
          pollLoop.end();
          throw error;
        }
        pollLoop.soon();
      }
    },
    async stop() {
      pollLoop.end();
      stopping.abort(new Error('The receiver was stopped.'));
      await round.settled();
    },
  };
}

function urlOf(at: string | URL | undefined): string | undefined {
  if (at === undefined) return undefined;
  const url = URL.canParse(at) ? new URL(at) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('"at" must be an http or https URL.');
  url.hash = '';
  return url.href;
}

/**
 * Returns a function that reports errors to `onError`. Errors caused by `stop` are ignored, and errors of handlers are
 * unwrapped.
 */
function reporting(onError: OnError, stopped: AbortSignal): (error: unknown) => void {
  const report = async (error: unknown, context?: Context) => {
    try {
      await onError(error, context);
    } catch (thrown) {
      warn(thrown);
    }
  };
  return (error) => {
    if (error instanceof HandlerFailed) report(error.cause, error.context);
    else if (!stopped.aborted) report(error);
  };
}

/** Emits a process warning, which Node, Deno and Bun write to standard error. */
function warn(error: unknown): void {
  const host: { emitWarning?: (warning: string | Error) => void } | undefined = Reflect.get(globalThis, 'process');
  host?.emitWarning?.(error instanceof Error ? error : String(error));
}

/** Whether a retry would fail again, since the service has rejected the request. */
function isPermanent(error: unknown): boolean {
  return error instanceof CarillonError && [400, 401, 409].includes(error.status);
}

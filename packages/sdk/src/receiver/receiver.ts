import type { Id } from '../api-types.ts';
import { Carillon, type CarillonOptions, resolveClientOptions } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { HookScope } from '../hooks.ts';
import { apiKey } from '../transport.ts';
import type { Subscription } from './feed-pages.ts';
import { createHandledCache, createNotificationHandler } from './handle-notification.ts';
import { type ReceiverHookSettings, reconcileHooks } from './manage-hooks.ts';
import { createFastifyHandler, createNodeHandler, type FastifyHandler, type NodeHandler } from './node.ts';
import {
  getHandledKinds,
  HandlerError,
  type HandlersByKind,
  type OccurrenceContext,
  requireReadPermission,
} from './occurrence-handlers.ts';
import { coalesceRuns, createPollLoop } from './poll-loop.ts';
import { type FeedSyncDeps, syncFeed } from './read-feed.ts';
import { memoryState, type ReceiverState } from './state.ts';
import { createSignatureVerifier } from './verify-signature.ts';
import { createWebHandler, type WebHandler } from './web.ts';

type OnError = (error: unknown, context?: OccurrenceContext) => unknown;

/** Options of a receiver. */
export type ReceiverOptions = {
  /** Public base URL of the service. Every `resource_url` has to begin with it. */
  readonly baseUrl: string | URL;
  /** Host name of the account. */
  readonly domain: string;
  /**
   * An API key. It needs `hooks:read` and read permission for the records of the kinds; with `at`, it also needs
   * `hooks:write`.
   */
  readonly key: string;
  /**
   * Handlers by event kind (kind of occurrence). The handler `*` gets all other kinds whose records the key may read.
   */
  readonly on: HandlersByKind;
  /**
   * Whose occurrences are handled. `own`: those that the user of the key causes, the default. `project`: those of all
   * users in the project `projectId`. `account`: those of all users, for keys of admins.
   */
  readonly scope?: HookScope | undefined;
  /** The project, with scope `project` only. */
  readonly projectId?: Id | undefined;
  /**
   * URL of this receiver, with a part that cannot be guessed. `start` creates a hook with this target for the kinds
   * in `on`, and changes it when `on` or the scope has changed. Without `at`, create the hooks yourself.
   */
  readonly at?: string | URL | undefined;
  /** Storage of the cursor; default: in memory, so a restart loses the cursor. */
  readonly state?: ReceiverState | undefined;
  /** Signing secrets, each `whsec_…`. If given, notifications must be signed by one of them. */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * Called with every error, and with the occurrence if a handler has thrown. Default: a process warning, if the
   * runtime has them. Errors that this function throws also become a process warning.
   */
  readonly onError?: OnError | undefined;
  /**
   * Called and awaited if entries after the cursor are no longer stored: the receiver was offline for 90 days, or the
   * service was restored from a backup. Fetch all records here. The receiver then continues with the oldest stored
   * entry.
   */
  readonly onGap?: ((error: CarillonError) => unknown) | undefined;
  /** Milliseconds after which a notification is postponed with 503; default 10,000. The service waits 15 seconds. */
  readonly timeoutMs?: number | undefined;
  /**
   * Interval in milliseconds at which the feed is polled, in case a notification is lost; default 5 minutes; 0 disables
   * polling.
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
   * Creates a missing hook, handles missed occurrences, and makes the service retry postponed deliveries. Then polls
   * every `everyMs`. Call it when the server listens.
   *
   * Resolves after the first sync. Rejects with a `CarillonError` if the service rejects the key, a permission, the
   * project or the target. If the service is unavailable or a handler has thrown, `onError` is called and the sync is retried. Rejects
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
 * @throws TypeError for an invalid URL, key, secret, handler, scope, project, timeout or interval
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
  const stopController = new AbortController();
  const reportError = createErrorReporter(options.onError ?? emitWarning, stopController.signal);
  const clientOptions = { baseUrl: options.baseUrl, auth: apiKey(options), timeoutMs, fetch: options.fetch };
  const carillon = new Carillon(clientOptions);
  const { apiRoot } = resolveClientOptions(clientOptions);
  const hookSettings: ReceiverHookSettings = {
    carillon,
    receiverUrl: normalizeReceiverUrl(options.at),
    subscription: { kinds: getHandledKinds(on), ...readScope(options) },
    signal: stopController.signal,
  };
  let hasReadPermission = false;
  let areHooksCreated = false;
  const handledCache = createHandledCache();
  const { onGap = reportError } = options;
  const syncDeps: FeedSyncDeps = {
    ...{ carillon, apiRoot, handlers: on, hookSettings, state, signal: stopController.signal },
    onGap(error) {
      // A restored service may have lost the hooks, so the next poll creates them again.
      areHooksCreated = false;
      return onGap(error);
    },
    onHandled: handledCache.add,
  };

  const feedSync = coalesceRuns(async () => {
    try {
      stopController.signal.throwIfAborted();
      const { kinds } = hookSettings.subscription;
      if (!hasReadPermission) await requireReadPermission(carillon, kinds, syncDeps);
      hasReadPermission = true;
      await (state.withLock === undefined ? syncFeed(syncDeps) : state.withLock(() => syncFeed(syncDeps)));
    } catch (error) {
      reportError(error);
      throw error;
    }
  });
  async function syncAndReconcileHooks(): Promise<void> {
    await feedSync.requestRun();
    const createsMissingHooks = !areHooksCreated;
    // Set the flag before the call: if a gap is found meanwhile, `onGap` resets the flag, and the next poll creates the
    // hooks again.
    areHooksCreated = true;
    try {
      // The sync comes first: a hook that is created or restored also delivers earlier occurrences, which the sync has
      // then handled already.
      await reconcileHooks(hookSettings, createsMissingHooks);
    } catch (error) {
      if (createsMissingHooks) areHooksCreated = false;
      reportError(error);
      throw error;
    }
  }
  const pollLoop = createPollLoop(syncAndReconcileHooks, everyMs);
  const handleNotification = createNotificationHandler({
    apiRoot,
    verifySignature: options.secret === undefined ? undefined : createSignatureVerifier([options.secret].flat()),
    catchUp: feedSync.requestRun,
    isHandled: handledCache.has,
    timeoutMs,
    onError: reportError,
    onPostponed: pollLoop.pollSoon,
  });

  return {
    fetch: createWebHandler(handleNotification),
    node: createNodeHandler(handleNotification),
    fastify: createFastifyHandler(handleNotification),
    async start() {
      stopController.signal.throwIfAborted();
      areHooksCreated = false;
      pollLoop.start();
      try {
        await syncAndReconcileHooks();
      } catch (error) {
        if (isPermanentError(error)) {
          pollLoop.stop();
          throw error;
        }
        pollLoop.pollSoon();
      }
    },
    async stop() {
      pollLoop.stop();
      stopController.abort(new Error('The receiver was stopped.'));
      await feedSync.waitForActiveRun();
    },
  };
}

function readScope({ scope = 'own', projectId }: ReceiverOptions): Omit<Subscription, 'kinds'> {
  if (!['own', 'project', 'account'].includes(scope))
    throw new TypeError('"scope" must be "own", "project" or "account".');
  if (scope !== 'project' && projectId !== undefined) throw new TypeError('"projectId" needs the scope "project".');
  if (scope === 'project' && !/^[1-9]\d*$/.test(String(projectId)))
    throw new TypeError('"projectId" must be the id of a project.');
  return { scope, projectId: projectId === undefined ? undefined : String(projectId) };
}

function normalizeReceiverUrl(receiverUrl: string | URL | undefined): string | undefined {
  if (receiverUrl === undefined) return undefined;
  const url = URL.canParse(receiverUrl) ? new URL(receiverUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('"at" must be an http or https URL.');
  url.hash = '';
  return url.href;
}

/**
 * Returns a function that reports errors to `onError`. Errors caused by `stop` are ignored, and errors of handlers are
 * unwrapped.
 */
function createErrorReporter(onError: OnError, stopSignal: AbortSignal): (error: unknown) => void {
  const callOnError = async (error: unknown, context?: OccurrenceContext) => {
    try {
      await onError(error, context);
    } catch (callbackError) {
      emitWarning(callbackError);
    }
  };
  return (error) => {
    if (error instanceof HandlerError) void callOnError(error.cause, error.context);
    else if (!stopSignal.aborted) void callOnError(error);
  };
}

/** Emits a process warning, which Node, Deno and Bun write to standard error. */
function emitWarning(error: unknown): void {
  const nodeProcess: { emitWarning?: (warning: string | Error) => void } | undefined = Reflect.get(
    globalThis,
    'process',
  );
  nodeProcess?.emitWarning?.(error instanceof Error ? error : String(error));
}

/** Whether a retry would fail again, since the service has rejected the request. */
function isPermanentError(error: unknown): boolean {
  return error instanceof CarillonError && [400, 401, 404, 409].includes(error.status);
}

import { apiKey } from '../auth.ts';
import { Carillon, type CarillonOptions, transportedBy } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import { rounds } from './coalesced-runner.ts';
import { answering } from './handle-notification.ts';
import { type Context, HandlerFailed, type Handlers, kindsOf, mustBeReadable } from './handlers.ts';
import { type OwnHooks, tendHooks } from './manage-hooks.ts';
import { type FastifyHandler, fastifyHandler, type NodeHandler, nodeHandler } from './node.ts';
import { watch } from './poll-loop.ts';
import { type Reading, readRound } from './read-feed.ts';
import { verifier } from './signature.ts';
import { memoryState, type State } from './state.ts';
import { type WebHandler, webHandler } from './web.ts';

type OnError = (error: unknown, context?: Context) => unknown;

/** What a receiver is made of. */
export type ReceiverOptions = {
  /** The service, by the address that it calls itself: every `resource_url` has to begin with it. */
  readonly baseUrl: string | URL;
  /** The account's own host name. */
  readonly domain: string;
  /**
   * A key of the user whose occurrences are wanted. It needs `hooks:read`, to read what the kinds are about, and with `at`
   * `hooks:write`.
   */
  readonly key: string;
  /** What is done, by kind. */
  readonly on: Handlers;
  /**
   * Where this receiver is reached, with a part that nobody can guess. `start` then subscribes it to each kind of `on`, at
   * this address with the kind in its query. Left out: the hooks are yours to make.
   */
  readonly at?: string | URL | undefined;
  /** Where the cursor is kept; default: in memory. */
  readonly state?: State | undefined;
  /** `whsec_…`: only what is signed by one of these is answered. */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * Hears everything that goes wrong; with the occurrence when a handler has thrown. Default: a warning of the process,
   * where there is one. So is what it throws itself.
   */
  readonly onError?: OnError | undefined;
  /**
   * Called, and awaited, when something behind the cursor is not kept any more: the receiver was away for 90 days, or the
   * service has gone back to a backup. Read the lists here; the receiver then goes on with the oldest that is kept.
   */
  readonly onGap?: ((error: CarillonError) => unknown) | undefined;
  /** Milliseconds until a notification is put off with 503; default 10,000. The service waits 15 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds from one look into the feed to the next, also without a notification; default 5 minutes; 0: none. */
  readonly everyMs?: number | undefined;
  /** What makes requests to the service; default the global `fetch`. */
  readonly fetch?: CarillonOptions['fetch'];
};

/**
 * Takes notifications, and calls a handler for everything that happens: in order, and never past one that failed. Every
 * member can be handed on by itself.
 */
export type Receiver = {
  /** For Deno, Bun and Workers as it is; for Hono: `(c) => receiver.fetch(c.req.raw)`. */
  readonly fetch: WebHandler;
  /** For `node:http` and, with or without a parser of bodies in front, for Express. */
  readonly node: NodeHandler;
  /** For a route of Fastify. */
  readonly fastify: FastifyHandler;
  /**
   * Makes the hooks that are missing, handles what was missed, and tells the service to try again what it puts off; from
   * then on it looks by itself every `everyMs`. To be called once the server listens.
   *
   * Resolves after the first look. Rejects with a `CarillonError` where the service refuses: the key, the permission, the
   * address. Is it away, or has a handler thrown, then `onError` hears of it and it is tried again. Rejects after `stop`:
   * a receiver that was stopped stays so.
   */
  start(): Promise<void>;
  /** Begins nothing more, and resolves when the handler that is at work has ended. Notifications are put off. */
  stop(): Promise<void>;
};

/** @throws TypeError for an address, a key, a secret, a handler or a time that can be none */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { on, state = memoryState(), timeoutMs = 10_000, everyMs = 300_000 } = options;
  if (!(timeoutMs > 0)) throw new TypeError('"timeoutMs" is a number above 0.');
  if (!(everyMs >= 0)) throw new TypeError('"everyMs" is a number, 0 or more.');
  const stopping = new AbortController();
  const report = reporting(options.onError ?? warn, stopping.signal);
  const client = { baseUrl: options.baseUrl, auth: apiKey(options), timeoutMs, fetch: options.fetch };
  const carillon = new Carillon(client);
  const { root } = transportedBy(client);
  const own: OwnHooks = { carillon, at: addressOf(options.at), kinds: kindsOf(on), signal: stopping.signal };
  let isReadable = false;
  let isSubscribed = false;
  const { onGap = report } = options;
  const reading: Reading = {
    ...{ carillon, root, on, own, state, signal: stopping.signal },
    onGap(error) {
      // A service that has gone back may have gone back to before the hooks were made.
      isSubscribed = false;
      return onGap(error);
    },
  };

  const round = rounds(async () => {
    try {
      stopping.signal.throwIfAborted();
      if (!isReadable) await mustBeReadable(carillon, own.kinds, stopping.signal);
      isReadable = true;
      await (state.alone === undefined ? readRound(reading) : state.alone(() => readRound(reading)));
    } catch (error) {
      report(error);
      throw error;
    }
  });
  async function look(): Promise<void> {
    await round.ask();
    const subscribing = !isSubscribed;
    // Beforehand: a gap that is found meanwhile has the next look make them again.
    isSubscribed = true;
    try {
      // The hooks last: what they are then told again is handled by that time.
      await tendHooks(own, subscribing);
    } catch (error) {
      if (subscribing) isSubscribed = false;
      report(error);
      throw error;
    }
  }
  const watching = watch(look, everyMs);
  const answer = answering({
    root,
    verify: options.secret === undefined ? undefined : verifier([options.secret].flat()),
    catchUp: round.ask,
    timeoutMs,
    onError: report,
    onPutOff: watching.soon,
  });

  return {
    fetch: webHandler(answer),
    node: nodeHandler(answer),
    fastify: fastifyHandler(answer),
    async start() {
      stopping.signal.throwIfAborted();
      isSubscribed = false;
      watching.begin();
      try {
        await look();
      } catch (error) {
        if (isRefusal(error)) {
          watching.end();
          throw error;
        }
        watching.soon();
      }
    },
    async stop() {
      watching.end();
      stopping.abort(new Error('The receiver was stopped.'));
      await round.settled();
    },
  };
}

function addressOf(at: string | URL | undefined): string | undefined {
  if (at === undefined) return undefined;
  const url = URL.canParse(at) ? new URL(at) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('"at" is an http or https address.');
  url.hash = '';
  return url.href;
}

/** What a stop breaks off has not gone wrong; what a handler has thrown is told as it was thrown. */
function reporting(onError: OnError, stopped: AbortSignal): (error: unknown) => void {
  const tell = async (error: unknown, context?: Context) => {
    try {
      await onError(error, context);
    } catch (own) {
      warn(own);
    }
  };
  return (error) => {
    if (error instanceof HandlerFailed) tell(error.cause, error.context);
    else if (!stopped.aborted) tell(error);
  };
}

/** Node, Deno and Bun write it to standard error. */
function warn(error: unknown): void {
  const host: { emitWarning?: (warning: string | Error) => void } | undefined = Reflect.get(globalThis, 'process');
  host?.emitWarning?.(error instanceof Error ? error : String(error));
}

/** Tried again, it would be refused again. */
function isRefusal(error: unknown): boolean {
  return error instanceof CarillonError && [400, 401, 409].includes(error.status);
}

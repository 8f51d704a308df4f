import type { HookKind } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { FeedEntry, FeedFilters, FeedPage } from '../../../packages/sdk/src/notifications.ts';
import type { Clock } from '../../clock.ts';
import type { ServiceClient } from '../client/connect.ts';
import type { SavedCursor } from './cursor-file.ts';

/** Maximum time for which the service holds a call open until new entries arrive. */
const MAX_WAIT_S = 30;
/** Maximum number of entries per call. */
const FEED_PAGE_SIZE = 100;

export type FeedReaderOptions = {
  readonly scope: 'own' | 'account' | undefined;
  /** The selected kind if there is only one, so that the service filters by it; undefined for several kinds. */
  readonly kind: HookKind | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called when the service becomes unreachable. */
  readonly onUnreachable: (error: CarillonError) => void;
  /** Called when the service is reachable again. */
  readonly onReachable: () => void;
};

/** Reads the feed of a service and retries temporary failures without limit. */
export class FeedReader {
  readonly #client: ServiceClient;
  readonly #options: FeedReaderOptions;
  readonly #backoff = new Backoff();
  #isLost = false;

  constructor(client: ServiceClient, options: FeedReaderOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Yields pages with the entries after a cursor, then pages with new entries as they occur. Ends only when the signal
   * is aborted.
   */
  async *pages(after: string | undefined): AsyncGenerator<FeedPage, never, undefined> {
    const { kind } = this.#options;
    for (let next = after; ; ) {
      const page = await this.#list({ after: next, kind, limit: FEED_PAGE_SIZE, wait: MAX_WAIT_S });
      next = page.next;
      yield page;
    }
  }

  /** Returns the cursor of the end of the feed. */
  async endCursor(): Promise<string> {
    return (await this.#list({ after: 'latest' })).next;
  }

  /** Returns the oldest stored entry; undefined if the feed is empty. */
  async oldestEntry(): Promise<FeedEntry | undefined> {
    return (await this.#list({ limit: 1 })).data[0];
  }

  /**
   * Fetches the record of an entry, always from the connected service. Returns null if the record was deleted or the
   * key may not read it.
   */
  async fetchRecord(entry: FeedEntry): Promise<Record<string, unknown> | null> {
    const { carillon } = this.#client;
    const [resourceType = '', id = ''] = entry.resource_url.split('/').slice(-2);
    const { signal } = this.#options;
    try {
      const { service } = this.#client.connection;
      const read = () => carillon.fetchNotifiedRecord(`${service}/v2/${resourceType}/${id}`, { signal, retries: 0 });
      return (await this.#retry(read)).record;
    } catch (error) {
      if (error instanceof CarillonError && ['not_found', 'not_permitted'].includes(error.code)) return null;
      throw error;
    }
  }

  #list(filters: FeedFilters): Promise<FeedPage> {
    const { scope, signal } = this.#options;
    const { notifications } = this.#client.carillon;
    return this.#retry(() => notifications.list({ scope, ...filters }, { signal, retries: 0 }));
  }

  async #retry<T>(call: () => Promise<T>): Promise<T> {
    const { signal, clock, onUnreachable, onReachable } = this.#options;
    while (true) {
      try {
        const result = await call();
        if (this.#isLost) onReachable();
        this.#isLost = false;
        this.#backoff.reset();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof CarillonError) || !isTemporary(error)) throw error;
        if (!this.#isLost) onUnreachable(error);
        this.#isLost = true;
        await pause(clock, Math.max(this.#backoff.nextWaitMs(), 1_000 * (error.retryAfterS ?? 0)), signal);
      }
    }
  }
}

/**
 * Whether a retry may succeed: after a network error, an error of a proxy, or overload. A rejection by the service is
 * final.
 */
function isTemporary({ status, code }: CarillonError): boolean {
  return status === 0 || status >= 500 || status === 408 || status === 429 || code === 'unexpected_answer';
}

/**
 * Returns the error lines for a cursor that the service rejects. They say which entries were missed and how to
 * continue.
 */
export function cursorGoneLines(position: SavedCursor, oldest: FeedEntry | undefined): string[] {
  const since = position.occurred_at === '' ? '' : ` (${position.occurred_at} UTC)`;
  const isTooOld = oldest !== undefined && Number(oldest.cursor) > Number(position.cursor);
  const missed = isTooOld
    ? `what happened between it and cursor ${oldest.cursor} (${oldest.occurred_at} UTC) is no longer stored and was missed`
    : 'the service was restored from a backup or is a different one, and does not know this cursor';
  return [
    `Cannot continue after cursor ${position.cursor}${since}: ${missed}.`,
    'Continue with --from-oldest (some occurrences may be sent again) or --from-now. To catch up with missed changes, read the lists.',
  ];
}

const INITIAL_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;

/** Exponential backoff for retries. Call `reset` after a success. */
export class Backoff {
  #nextMs = INITIAL_WAIT_MS;

  nextWaitMs(): number {
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(2 * waitMs, MAX_WAIT_MS);
    return waitMs;
  }

  reset(): void {
    this.#nextMs = INITIAL_WAIT_MS;
  }
}

/** Waits for `waitMs`. Rejects with the signal's reason as soon as the signal is aborted. */
export async function pause(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const cancel = clock.after(waitMs, wake);
  signal.addEventListener('abort', wake);
  await promise;
  signal.removeEventListener('abort', wake);
  cancel();
  signal.throwIfAborted();
}

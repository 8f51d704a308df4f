import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { FeedEntry, FeedFilters, FeedPage } from '../../../packages/sdk/src/notifications.ts';
import { parseNotifiedUrl } from '../../../packages/sdk/src/parse-notification.ts';
import { computeBackoffMs } from '../../async/backoff.ts';
import type { Clock } from '../../clock.ts';
import type { ServiceClient } from '../client/connect.ts';
import type { FeedPosition } from './cursor-file.ts';

/** Maximum time for which the service holds a call open until new entries arrive. */
const MAX_LONG_POLL_S = 30;
/** Maximum number of entries per call. */
const FEED_PAGE_SIZE = 100;

type FeedReaderOptions = {
  /** Selects the entries. */
  readonly filters: Pick<FeedFilters, 'kind' | 'scope' | 'project_id'>;
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
  #isUnreachable = false;

  constructor(client: ServiceClient, options: FeedReaderOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Yields pages with the entries after a cursor, then pages with new entries as they occur. Ends only when the signal
   * is aborted.
   */
  async *followPages(afterCursor: string | undefined): AsyncGenerator<FeedPage, never, undefined> {
    const { filters } = this.#options;
    for (let nextCursor = afterCursor; ; ) {
      const page = await this.#listEntries({
        ...filters,
        ...{ after: nextCursor, limit: FEED_PAGE_SIZE, wait: MAX_LONG_POLL_S },
      });
      nextCursor = page.next;
      yield page;
    }
  }

  /** Returns the cursor of the end of the feed. */
  async fetchEndCursor(): Promise<string> {
    return (await this.#listEntries({ after: 'latest' })).next;
  }

  /** Returns the oldest stored entry; undefined if the feed is empty. */
  async fetchOldestEntry(): Promise<FeedEntry | undefined> {
    const { scope, project_id } = this.#options.filters;
    return (await this.#listEntries({ scope, project_id, limit: 1 })).data[0];
  }

  /**
   * Fetches the record of an entry from the connected service, even if `resource_url` has another base URL. Returns
   * null if the record was deleted, the key may not read it, or its type is one of later versions.
   */
  async fetchRecord(entry: FeedEntry): Promise<Record<string, unknown> | null> {
    const { carillon } = this.#client;
    const [resourceType = '', recordId = ''] = entry.resource_url.split('/').slice(-2);
    const { signal } = this.#options;
    try {
      const { service } = this.#client.connection;
      const recordUrl = `${service}/v2/${resourceType}/${recordId}`;
      if (parseNotifiedUrl(`${service}/v2`, recordUrl) === undefined) return null;
      const fetchOnce = () => carillon.fetchNotifiedRecord(recordUrl, { signal, retries: 0 });
      return (await this.#withRetries(fetchOnce)).record;
    } catch (error) {
      if (error instanceof CarillonError && ['not_found', 'not_permitted'].includes(error.code)) return null;
      throw error;
    }
  }

  #listEntries(filters: FeedFilters): Promise<FeedPage> {
    const { signal } = this.#options;
    const { notifications } = this.#client.carillon;
    return this.#withRetries(() => notifications.list(filters, { signal, retries: 0 }));
  }

  async #withRetries<T>(call: () => Promise<T>): Promise<T> {
    const { signal, clock, onUnreachable, onReachable } = this.#options;
    while (true) {
      try {
        const result = await call();
        if (this.#isUnreachable) onReachable();
        this.#isUnreachable = false;
        this.#backoff.reset();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof CarillonError) || !isTemporaryError(error)) throw error;
        if (!this.#isUnreachable) onUnreachable(error);
        this.#isUnreachable = true;
        await pause(clock, Math.max(this.#backoff.takeNextWaitMs(), 1_000 * (error.retryAfterS ?? 0)), signal);
      }
    }
  }
}

/**
 * Whether a retry may succeed: after a network error, an error of a proxy, or overload. A rejection by the service is
 * final.
 */
function isTemporaryError({ status, code }: CarillonError): boolean {
  return status === 0 || status >= 500 || status === 408 || status === 429 || code === 'unexpected_answer';
}

/**
 * Returns the error lines for a cursor that the service rejects. The lines say which entries were missed and how to
 * continue.
 */
export function formatCursorGoneError(position: FeedPosition, oldestEntry: FeedEntry | undefined): string[] {
  const positionTimeText = position.occurred_at === '' ? '' : ` (${position.occurred_at} UTC)`;
  const isCursorTooOld = oldestEntry !== undefined && Number(oldestEntry.cursor) > Number(position.cursor);
  const reasonText = isCursorTooOld
    ? `what happened between it and cursor ${oldestEntry.cursor} (${oldestEntry.occurred_at} UTC) is no longer stored and was missed`
    : 'the service was restored from a backup or is a different one, and does not know this cursor';
  return [
    `Cannot continue after cursor ${position.cursor}${positionTimeText}: ${reasonText}.`,
    'Continue with --from-oldest (some occurrences may be sent again) or --from-now. To catch up with missed changes, read the lists.',
  ];
}

const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;

/** Exponential backoff for the requests of this command. Call `reset` after a success. */
export class Backoff {
  #retryCount = 0;

  takeNextWaitMs(): number {
    const waitMs = computeBackoffMs(this.#retryCount, INITIAL_BACKOFF_MS, MAX_BACKOFF_MS);
    this.#retryCount += 1;
    return waitMs;
  }

  reset(): void {
    this.#retryCount = 0;
  }
}

/** Waits for `waitMs`. Rejects with the signal's reason as soon as the signal is aborted. */
export async function pause(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopWaiting = () => resolve();
  const cancelTimer = clock.after(waitMs, stopWaiting);
  signal.addEventListener('abort', stopWaiting);
  await promise;
  signal.removeEventListener('abort', stopWaiting);
  cancelTimer();
  signal.throwIfAborted();
}

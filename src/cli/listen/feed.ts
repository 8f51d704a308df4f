import type { Kind } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Notification, NotificationFilters, Stretch } from '../../../packages/sdk/src/notifications.ts';
import type { Clock } from '../../clock.ts';
import type { ResolvedConnection } from '../client/connect.ts';
import { pause, Waits } from './backoff.ts';
import type { Mark } from './cursor-file.ts';

/** The longest that the service lets a call wait, and how many entries of it are dealt with at once. */
const MAX_WAIT_S = 30;
const FEED_PAGE_SIZE = 100;

export type FeedOptions = {
  readonly scope: 'own' | 'account' | undefined;
  /** The one kind that is wanted, where it is only one. */
  readonly kind: Kind | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The service does not answer; and does again. */
  readonly lost: (error: CarillonError) => void;
  readonly found: () => void;
};

/** The feed of a service that may go away and come back: no call is given up for what may pass. */
export class Feed {
  readonly #reached: ResolvedConnection;
  readonly #options: FeedOptions;
  readonly #waits = new Waits();
  #isLost = false;

  constructor(reached: ResolvedConnection, options: FeedOptions) {
    this.#reached = reached;
    this.#options = options;
  }

  /** Everything behind a cursor, and then what happens, stretch by stretch; ends by the signal's rejection alone. */
  async *stretches(after: string | undefined): AsyncGenerator<Stretch, never, undefined> {
    const { kind } = this.#options;
    for (let next = after; ; ) {
      const stretch = await this.#list({ after: next, kind, limit: FEED_PAGE_SIZE, wait: MAX_WAIT_S });
      next = stretch.next;
      yield stretch;
    }
  }

  /** The cursor behind everything that has happened so far. */
  async end(): Promise<string> {
    return (await this.#list({ after: 'latest' })).next;
  }

  /** The oldest entry that is kept. */
  async oldest(): Promise<Notification | undefined> {
    return (await this.#list({ limit: 1 })).data[0];
  }

  /** The record of an entry, from this service whatever its address says; null where it is gone, or not for this key. */
  async record(entry: Notification): Promise<Record<string, unknown> | null> {
    const { carillon } = this.#reached;
    const [resourceType = '', id = ''] = entry.resource_url.split('/').slice(-2);
    const { signal } = this.#options;
    try {
      const { service } = this.#reached.connection;
      const read = () => carillon.notified(`${service}/v2/${resourceType}/${id}`, { signal, retries: 0 });
      return (await this.#untilItAnswers(read)).record;
    } catch (error) {
      if (error instanceof CarillonError && ['not_found', 'not_permitted'].includes(error.code)) return null;
      throw error;
    }
  }

  #list(filters: NotificationFilters): Promise<Stretch> {
    const { scope, signal } = this.#options;
    const { notifications } = this.#reached.carillon;
    return this.#untilItAnswers(() => notifications.list({ scope, ...filters }, { signal, retries: 0 }));
  }

  async #untilItAnswers<T>(call: () => Promise<T>): Promise<T> {
    const { signal, clock, lost, found } = this.#options;
    while (true) {
      try {
        const answer = await call();
        if (this.#isLost) found();
        this.#isLost = false;
        this.#waits.reset();
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof CarillonError) || !mayPass(error)) throw error;
        if (!this.#isLost) lost(error);
        this.#isLost = true;
        await pause(clock, Math.max(this.#waits.next(), 1_000 * (error.retryAfterS ?? 0)), signal);
      }
    }
  }
}

/** What is no answer of a Carillon is a network or a proxy in between; what the service itself refuses stays refused. */
function mayPass({ status, code }: CarillonError): boolean {
  return status === 0 || status >= 500 || status === 408 || status === 429 || code === 'unexpected_answer';
}

/** What to say when what came after a mark is not kept any more: what is missing, and how to go on. */
export function explainGone(mark: Mark, oldest: Notification | undefined): string[] {
  const since = mark.occurred_at === '' ? '' : ` (${mark.occurred_at} UTC)`;
  const isTooOld = oldest !== undefined && Number(oldest.cursor) > Number(mark.cursor);
  const missed = isTooOld
    ? `what happened between it and cursor ${oldest.cursor} (${oldest.occurred_at} UTC) is not kept any more, and is missed`
    : 'the service has gone back to a backup, or is another one, and does not know it';
  return [
    `Listening cannot go on behind cursor ${mark.cursor}${since}: ${missed}.`,
    'Go on with --from-oldest, from what is kept (some of it may be sent a second time), or with --from-now. Records that changed meanwhile: read the lists.',
  ];
}

import { signal } from '@preact/signals';
import type { Occurrence } from '../../../../packages/sdk/src/activity.ts';
import type { FeedKind } from '../../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import { client } from '../../app/client.ts';
import { explain } from '../../app/use-query.ts';
import { behind, type Entry, entryOf, merged, urgencyOf } from './feed-store.ts';

/** Entries that the page keeps while new ones come in, and to which older ones are added by scrolling. */
export const MAX_KEPT_ENTRIES = 300;
export const MAX_SHOWN_ENTRIES = 600;

/** How often what has arrived is shown. However much happens, the page is drawn four times a second. */
const RENDER_INTERVAL_MS = 250;

/** What is not settled is asked for again, once a second at most; what may take hours, less often. */
const POLL_INTERVAL_MS = 1_000;
const ASK_LATER_MS = 5_000;
const MAX_REQUESTED_IDS = 100;

const LOST_MS = 5_000;
const PAGE = 50;

/** Which of what happens. */
export type Wanted = {
  readonly kind?: FeedKind;
  readonly hookId?: string;
  readonly scope: 'own' | 'account';
  /** Older than this cursor, and standing still. */
  readonly before?: string;
};

export type Phase = 'loading' | 'live' | 'lost' | 'refused';

/** Whether asking again would be answered the same: what is wanted is not there, or not for whoever asks. */
function isFinal(error: unknown): boolean {
  return error instanceof CarillonError && ['not_found', 'not_permitted', 'invalid_input'].includes(error.code);
}

/** What happens, as it happens, newest first; and what came of it. Bounded in what it keeps and in what it asks. */
export class Live {
  readonly entries = signal<readonly Entry[]>([]);
  /** How many have come while the page was held. */
  readonly waiting = signal(0);
  readonly phase = signal<Phase>('loading');
  readonly fault = signal<string | undefined>(undefined);
  readonly isEnd = signal(false);
  readonly isFetchingOlder = signal(false);
  /** Held: what comes is counted, and shown later. Paused: nothing is asked for, either. */
  isHeld: () => boolean = () => false;
  isPaused: () => boolean = () => false;
  /** The cursors in view. */
  inView: () => ReadonlySet<string> = () => new Set();

  readonly #wanted: Wanted;
  #arrived: Entry[] = [];
  /** More has arrived than is kept: what stands below is not next to it. */
  #hasGap = false;
  /** Of a hook, it is only heard that something of its kind has happened. */
  #isWoken = false;
  #newest: string | undefined;
  #older: string | undefined;
  #askedAt = 0;
  #isAsking = false;
  #stop: AbortController | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  start(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#timer = setInterval(() => this.#turn(), RENDER_INTERVAL_MS);
    this.#open(true);
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearInterval(this.#timer);
    this.#stop?.abort();
  }

  /** Shows what has come while the page was held. */
  release(): void {
    if (this.#arrived.length === 0) return;
    const arrived = this.#arrived.toReversed();
    const below = this.#hasGap ? [] : this.entries.value;
    const all = [...arrived, ...below];
    if (all.length > MAX_KEPT_ENTRIES) {
      this.#older = all[MAX_KEPT_ENTRIES - 1]?.cursor;
      this.isEnd.value = false;
    }
    this.entries.value = all.slice(0, MAX_KEPT_ENTRIES);
    this.#arrived = [];
    this.#hasGap = false;
    this.waiting.value = 0;
  }

  /** Fetches what happened before the oldest that is shown. */
  async older(): Promise<void> {
    if (this.isFetchingOlder.value || this.isEnd.value || this.entries.value.length >= MAX_SHOWN_ENTRIES) return;
    this.isFetchingOlder.value = true;
    try {
      const known = this.entries.value.at(-1)?.cursor;
      await this.#fetchOlder(this.#stop?.signal);
      if (this.entries.value.at(-1)?.cursor === known && !this.isEnd.value) await this.#fetchOlder(this.#stop?.signal);
    } catch (error) {
      if (!this.#stop?.signal.aborted) this.fault.value = explain(error);
    }
    this.isFetchingOlder.value = false;
  }

  async #fetchOlder(signal: AbortSignal | undefined): Promise<void> {
    const before = this.#older ?? this.entries.value.at(-1)?.cursor;
    const { data, next } = await client.activity.list({ ...this.#filters(), before, limit: PAGE }, { signal });
    this.entries.value = [...this.entries.value, ...data];
    this.#older = next;
    this.isEnd.value = next === '';
  }

  #filters() {
    const { kind, hookId, scope } = this.#wanted;
    return { scope, kind, hook_id: hookId };
  }

  readonly #onVisibility = () => {
    if (document.hidden) this.#stop?.abort();
    // Whoever looks on goes on where they were; for others it begins anew, however long they were away.
    else this.#open(!this.isHeld());
  };

  #open(isAnew: boolean): void {
    this.#stop?.abort();
    this.#stop = new AbortController();
    void this.#run(isAnew, this.#stop.signal);
  }

  async #run(isAnew: boolean, signal: AbortSignal): Promise<void> {
    let toLoad = isAnew;
    while (!signal.aborted) {
      try {
        if (toLoad) await this.#load(signal);
        toLoad = false;
        this.phase.value = 'live';
        this.fault.value = undefined;
        if (this.#wanted.before !== undefined) return;
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.fault.value = explain(error);
        if (isFinal(error)) {
          this.phase.value = 'refused';
          return;
        }
        toLoad ||= error instanceof CarillonError && error.code === 'cursor_gone';
        this.phase.value = 'lost';
        await new Promise((resolve) => setTimeout(resolve, LOST_MS));
      }
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { before } = this.#wanted;
    const list = () => client.activity.list({ ...this.#filters(), before, limit: PAGE }, { signal });
    let { data, next } = await list();
    let last: string | undefined;
    if (data.length === 0) {
      last = await this.#lastOfAll(signal);
      // Once more: what happened between the two would be in neither.
      ({ data, next } = await list());
    }
    this.entries.value = data;
    this.#older = next;
    this.isEnd.value = next === '';
    this.#arrived = [];
    this.#hasGap = false;
    this.waiting.value = 0;
    this.#newest = data[0]?.cursor ?? last;
  }

  /** Where the account stands, when there is nothing of what is wanted: what was before is not to be read through. */
  async #lastOfAll(signal: AbortSignal): Promise<string | undefined> {
    const { scope } = this.#wanted;
    return (await client.activity.list({ scope, limit: 1 }, { signal })).data[0]?.cursor;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { kind, hookId, scope } = this.#wanted;
    for await (const one of client.notifications.follow({ after: this.#newest, kind, scope }, { signal })) {
      this.#newest = one.cursor;
      if (hookId === undefined) this.#arrive(entryOf(one));
      else this.#isWoken = true;
    }
  }

  #arrive(entry: Entry): void {
    this.#arrived.push(entry);
    this.waiting.value += 1;
    if (this.#arrived.length <= 2 * MAX_KEPT_ENTRIES) return;
    this.#arrived = this.#arrived.slice(-MAX_KEPT_ENTRIES);
    this.#hasGap = true;
  }

  #turn(): void {
    if (document.hidden) return;
    if (!this.isHeld()) this.release();
    if (this.isPaused() || this.#isAsking || this.phase.value !== 'live') return;
    const now = Date.now();
    if (now - this.#askedAt < POLL_INTERVAL_MS) return;
    const asked = this.#isWoken ? { limit: PAGE } : this.#unsettled(now);
    if (asked === undefined) return;
    this.#askedAt = now;
    this.#isAsking = true;
    void this.#ask(asked).finally(() => {
      this.#isAsking = false;
    });
  }

  /** The stretch in view that is to be asked for. */
  #unsettled(now: number): { before: string; limit: number } | undefined {
    const isLater = now - this.#askedAt >= ASK_LATER_MS;
    const entries = this.entries.value;
    const inView = this.inView();
    const isDue = (entry: Entry) => {
      if (!inView.has(entry.cursor)) return false;
      const urgency = urgencyOf(entry, now);
      return urgency === 'soon' || (isLater && urgency === 'later');
    };
    const first = entries.findIndex(isDue);
    const newest = entries[first];
    if (newest === undefined) return undefined;
    const count = entries.findLastIndex(isDue) - first + 1;
    // Of a hook, entries are left out that it was not pending.
    const limit = this.#wanted.hookId === undefined ? Math.min(count, MAX_REQUESTED_IDS) : MAX_REQUESTED_IDS;
    return { before: behind(newest.cursor), limit };
  }

  async #ask(asked: { readonly before?: string; readonly limit: number }): Promise<void> {
    const isWhatIsNew = asked.before === undefined;
    if (isWhatIsNew) this.#isWoken = false;
    try {
      const signal = this.#stop?.signal;
      const { data } = await client.activity.list({ ...this.#filters(), ...asked }, { signal });
      this.entries.value = merged(this.entries.value, data);
      if (isWhatIsNew) this.#arriveAll(data);
      this.fault.value = undefined;
    } catch (error) {
      if (this.#stop?.signal.aborted !== true) this.fault.value = explain(error);
    }
  }

  #arriveAll(found: readonly Occurrence[]): void {
    const top = Number(this.#arrived.at(-1)?.cursor ?? this.entries.value[0]?.cursor ?? 0);
    const fresh = found.filter(({ cursor }) => Number(cursor) > top);
    this.#hasGap ||= fresh.length === PAGE && top > 0;
    for (const one of fresh.toReversed()) this.#arrive(one);
  }
}

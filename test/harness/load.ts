import { setTimeout as wait } from 'node:timers/promises';
import { compare, type Verdict } from '../../demo/ledgers.ts';
import { type Carillon, CarillonError } from '../../src/sdk/index.ts';
import type { Store } from '../../src/store/store.ts';
import type { Cleanup } from './cleanup.ts';
import { atEnd } from './cleanup.ts';
import type { Target } from './target.ts';

const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

/** Clients that create one event after the other, and what came of it. */
export type Load = {
  /** Where the events are that were answered with 201: paths, as `/v2/events/12`. */
  readonly acknowledged: ReadonlySet<string>;
  /** When each was, in monotonic milliseconds. */
  readonly at: ReadonlyMap<string, number>;
  /** What was not. */
  readonly failures: readonly CarillonError[];
  /** From now on through these. */
  through(...nodes: readonly Carillon[]): void;
  /** The next one waits for `resume`; resolves when those under way have their answers. */
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
};

/**
 * Each writer goes round the nodes, from the first `resume` on; where one does not answer, the next one is asked.
 *
 * @param everyMs the rest between two events of one writer
 */
export function startLoad(context: Cleanup, nodes: readonly Carillon[], writers: number, everyMs = 5): Load {
  const acknowledged = new Set<string>();
  const at = new Map<string, number>();
  const failures: CarillonError[] = [];
  let present = nodes;
  let stopped = false;
  let open = Promise.withResolvers<void>();
  let busy = 0;
  let idle = Promise.withResolvers<void>();

  async function writeOne(count: number): Promise<void> {
    const node = present[count % present.length];
    if (node === undefined) return;
    try {
      const { event_id } = await node.events.create(event);
      acknowledged.add(`/v2/events/${event_id}`);
      at.set(`/v2/events/${event_id}`, performance.now());
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
      failures.push(error);
    }
  }

  async function write(first: number): Promise<void> {
    for (let count = first; !stopped; count += 1) {
      await open.promise;
      if (stopped) return;
      busy += 1;
      await writeOne(count).finally(() => {
        busy -= 1;
        if (busy === 0) idle.resolve();
      });
      await wait(everyMs);
    }
  }
  const through = Promise.all(Array.from({ length: writers }, (_, index) => write(index)));
  const stop = async () => {
    stopped = true;
    open.resolve();
    await through;
  };
  atEnd(context, stop);
  return {
    acknowledged,
    at,
    failures,
    through: (...next) => {
      present = next;
    },
    async pause() {
      open = Promise.withResolvers();
      idle = Promise.withResolvers();
      if (busy > 0) await idle.promise;
    },
    resume: () => open.resolve(),
    stop,
  };
}

/** The paths of all events that are in the database. */
export async function storedEvents({ read }: Pick<Store, 'read'>): Promise<Set<string>> {
  const rows = await read.selectFrom('events').select('event_id').execute();
  return new Set(rows.map((row) => `/v2/events/${row.event_id}`));
}

/** A path of the target, and the first and the last event that its hook is owed, by id. */
export type Owed = { readonly path: string; readonly first: number; last: number };

/** What clients, receiver and database know of the same events. */
export async function compareLedgers(
  store: Pick<Store, 'read'>,
  { acknowledged }: Pick<Load, 'acknowledged'>,
  { received }: Pick<Target, 'received'>,
  hooks: readonly Owed[],
): Promise<Verdict> {
  const arrived = new Map(hooks.map(({ path }) => [path, new Map<string, number>()]));
  for (const { path, resourceUrl } of received) {
    const told = arrived.get(path);
    const address = new URL(resourceUrl).pathname;
    told?.set(address, (told.get(address) ?? 0) + 1);
  }
  const spans = new Map(hooks.map((hook) => [hook.path, hook]));
  const concerns = (path: string, address: string) => {
    const { first = 0, last = -1 } = spans.get(path) ?? {};
    const id = Number(address.split('/').at(-1));
    return id >= first && id <= last;
  };
  return compare({ acknowledged, arrived, stored: await storedEvents(store), concerns });
}

/** The newest event, by id. */
export async function newestEvent({ read }: Pick<Store, 'read'>): Promise<number> {
  const { newest } = await read
    .selectFrom('events')
    .select(({ fn }) => fn.max('event_id').as('newest'))
    .executeTakeFirstOrThrow();
  return newest ?? 0;
}

/** The deliveries that arrived more than once. */
export function repeatedIn({ received }: Pick<Target, 'received'>): string[] {
  const times = Map.groupBy(received, (one) => one.deliveryId);
  return [...times].filter(([, all]) => all.length > 1).map(([deliveryId]) => deliveryId);
}

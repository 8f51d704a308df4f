import { systemClock } from '../src/clock.ts';
import { BulkInserter } from '../src/transfer/import.ts';
import { withCleanup } from '../test/kit/cleanup.ts';
import { openStoreAt } from '../test/kit/database/database.ts';

const PROJECTS = 24;
const INSERT_BATCH_SIZE = 5_000;
export const DAY_MS = 86_400_000;

/** Returns a seeded random generator, so that every run gets the same numbers. */
function seededGenerator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export const isoDateOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);

/**
 * Returns the row of a typical event. Of all events, 70 % lie within one day, 28 % take up to a week, and 2 % up
 * to a quarter of a year.
 */
function createEventRow(event_id: number, years: number, next: () => number) {
  const startMs = Date.now() + (next() - 0.5) * years * 365.25 * DAY_MS;
  const start = isoDateOf(startMs);
  const kind = next();
  const days = kind < 0.7 ? 0 : kind < 0.98 ? 1 + Math.floor(next() * 6) : Math.floor(next() * 90);
  const hour = 8 + Math.floor(next() * 10);
  const clock = (at: number) => `${String(at).padStart(2, '0')}:00:00`;
  const isTimed = kind < 0.4;
  return {
    event_id,
    account_id: 1,
    event_name: `Release of version ${event_id}`,
    start_date: `${start} ${isTimed ? clock(hour) : '00:00:00'}`,
    due_date: `${isoDateOf(startMs + days * DAY_MS)} ${isTimed ? clock(hour + 1) : '00:00:00'}`,
    project_id: Math.floor(next() * (PROJECTS + 1)),
    date_created: systemClock.now(),
    date_modified: null,
    user_id: 1,
  };
}

/** The query values and the number of events of the current month, in a filled account. */
type FilledEvents = {
  /** The first day of the current month, as a query value. */
  readonly from: string;
  /** The last day of the current month, as a query value. */
  readonly to: string;
  /** The number of events that start in the current month. */
  readonly inMonth: number;
};

/** Fills the first account of a closed database with events, spread evenly over `years` years around today. */
export function fillWithEvents(
  database: string,
  { events, years }: { readonly events: number; readonly years: number },
): Promise<FilledEvents> {
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString().slice(0, 10);
  const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0)).toISOString().slice(0, 10);
  let inMonth = 0;
  return withCleanup(async (context) => {
    const store = await openStoreAt(context, database);
    const inserter = new BulkInserter();
    const next = seededGenerator(1);
    for (let begin = 1; begin <= events; begin += INSERT_BATCH_SIZE) {
      const count = Math.min(INSERT_BATCH_SIZE, events - begin + 1);
      const rows = Array.from({ length: count }, (_, index) => createEventRow(begin + index, years, next));
      inMonth += rows.filter(
        (row) => row.start_date.slice(0, 10) >= first && row.start_date.slice(0, 10) <= last,
      ).length;
      await store.write((tx) => inserter.insert(tx.queries, 'events', rows));
    }
    const ids = { table: 'events', column: 'event_id', last: events };
    await store.write((tx) => store.sequences.raise(tx.queries, ids, events));
    return { from: first.replaceAll('-', ''), to: last.replaceAll('-', ''), inMonth };
  });
}

import type { Store } from '../../../src/store/store.ts';
import type { ApiUser, TestService } from './service.ts';

/** A stored occurrence, with ids as the API returns them. */
export type RecordedOccurrence = { readonly kind: string; readonly record_id: string; readonly user_id: string };

/** Runs `work` and returns its result and the occurrences recorded meanwhile, in order. */
export async function recordOccurrences<T>(
  service: TestService,
  { domain }: ApiUser,
  work: () => Promise<T>,
): Promise<{ result: T; recorded: RecordedOccurrence[] }> {
  const positionBefore = await feedPositionOf(service, domain);
  const result = await work();
  const rows = await service.store.read
    .selectFrom('occurrences')
    .innerJoin('accounts', 'accounts.account_id', 'occurrences.account_id')
    .where('accounts.domain', '=', domain)
    .where('occurrences.position', '>', positionBefore)
    .select(['occurrences.kind', 'occurrences.record_id', 'occurrences.user_id'])
    .orderBy('occurrences.position')
    .execute();
  const recordedOccurrences = rows.map((row) => ({
    kind: row.kind,
    record_id: String(row.record_id),
    user_id: String(row.user_id),
  }));
  return { result, recorded: recordedOccurrences };
}

/** Returns the feed position of an account: the number of its occurrences. */
export async function feedPositionOf({ store }: TestService, domain: string): Promise<number> {
  const { position } = await store.read
    .selectFrom('positions')
    .innerJoin('accounts', 'accounts.account_id', 'positions.account_id')
    .where('accounts.domain', '=', domain)
    .select('positions.position')
    .executeTakeFirstOrThrow();
  return position;
}

/** Every table that an API call can write to. */
const writableTables = [
  'accounts',
  'users',
  'api_keys',
  'passphrases',
  'sessions',
  'invitations',
  'clients',
  'projects',
  'tasks',
  'subtasks',
  'events',
  'assignments',
  'hooks',
  'targets',
  'occurrences',
  'positions',
  'pending_deliveries',
] as const;

/** Serializes every table that an API call can write to, so that a test can assert that a call wrote nothing. */
export async function serializeTables({ store }: TestService): Promise<string> {
  const tables: unknown[] = [];
  for (const table of writableTables) {
    const rows = await store.read.selectFrom(table).selectAll().execute();
    // Leave out `last_used`, because the service updates it in the background.
    const stableRows = rows.map((row) => JSON.stringify('last_used' in row ? { ...row, last_used: null } : row));
    // Sort the rows, because the database returns them in any order.
    tables.push([table, stableRows.sort()]);
  }
  return JSON.stringify(tables);
}

/**
 * Sets the retention clock as if services had run until this time. Retention deletes old rows by that clock (decision
 * 34).
 */
export async function setRetentionClock(store: Pick<Store, 'write'>, at: number): Promise<void> {
  const clockColumns = { trusted_at: at, observed_at: at, doubted_ms: 0, doubted_since: 0, seen_since_ms: 0 };
  await store.write(({ queries }) =>
    queries
      .insertInto('retention_clock')
      .values({ clock_id: 1, ...clockColumns })
      .onConflict((conflict) => conflict.column('clock_id').doUpdateSet(clockColumns))
      .execute(),
  );
}

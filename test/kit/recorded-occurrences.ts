import type { Person, TestService } from './service.ts';

/** An occurrence as it stands in the database, ids as they are answered. */
export type Noted = { readonly kind: string; readonly record_id: string; readonly user_id: string };

/** What happened in an account while `work` ran: its result, and the occurrences that were recorded, in order. */
export async function noting<T>(
  carillon: TestService,
  { domain }: Person,
  work: () => Promise<T>,
): Promise<{ result: T; noted: Noted[] }> {
  const before = await positionOf(carillon, domain);
  const result = await work();
  const rows = await carillon.store.read
    .selectFrom('occurrences')
    .innerJoin('accounts', 'accounts.account_id', 'occurrences.account_id')
    .where('accounts.domain', '=', domain)
    .where('occurrences.position', '>', before)
    .select(['occurrences.kind', 'occurrences.record_id', 'occurrences.user_id'])
    .orderBy('occurrences.position')
    .execute();
  const noted = rows.map((row) => ({
    kind: row.kind,
    record_id: String(row.record_id),
    user_id: String(row.user_id),
  }));
  return { result, noted };
}

/** The account's position: how many occurrences it has had. */
export async function positionOf({ store }: TestService, domain: string): Promise<number> {
  const { position } = await store.read
    .selectFrom('positions')
    .innerJoin('accounts', 'accounts.account_id', 'positions.account_id')
    .where('accounts.domain', '=', domain)
    .select('positions.position')
    .executeTakeFirstOrThrow();
  return position;
}

/** Every table that a call could write to. */
const written = [
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

/** Everything that is written down, as one text: equal before and after a call that wrote nothing. */
export async function everythingWritten({ store }: TestService): Promise<string> {
  const tables: unknown[] = [];
  for (const table of written) {
    const rows = await store.read.selectFrom(table).selectAll().execute();
    // When a key was last used is kept by the service itself, at a time of its own.
    const lasting = rows.map((row) => JSON.stringify('last_used' in row ? { ...row, last_used: null } : row));
    // A database may give its rows in any order.
    tables.push([table, lasting.sort()]);
  }
  return JSON.stringify(tables);
}

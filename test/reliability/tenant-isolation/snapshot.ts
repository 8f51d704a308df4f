import type { AccountTable } from '../../../src/store/tables.ts';
import { leftBehind, tables } from '../../../src/transfer/exported-tables.ts';
import type { TestService } from '../../kit/service.ts';

/** The moment at which an expired session has ended. */
export const EXPIRED = 1;

/** When a key or a session was last used, and which node looks after a hook. */
const passing = ['last_used', 'lease_owner'];

const everyTable: readonly AccountTable[] = [...tables, ...leftBehind];

/** Every row of an account, a line each. Left out is what changes by looking, or by time. */
export async function rowsOf(
  { store }: Pick<TestService, 'store'>,
  domain: string,
  but: readonly string[] = [],
): Promise<Set<string>> {
  const { account_id } = await store.read
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain)
    .executeTakeFirstOrThrow();
  const lines = new Set<string>();
  for (const table of everyTable.filter((one) => !but.includes(one))) {
    const rows: object[] = await store.read
      .selectFrom(table)
      .selectAll()
      .where('account_id', '=', account_id)
      .execute();
    // What has expired is dropped by itself.
    for (const row of rows.filter((one) => !('expires_at' in one && one.expires_at === EXPIRED)))
      lines.add(`${table} ${JSON.stringify(row, (name, value) => (passing.includes(name) ? null : value))}`);
  }
  return lines;
}

/** What was there and is not any more. */
export function missing(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...before].filter((line) => !after.has(line));
}

/** What is in one and not in the other: `- ` what is gone, `+ ` what came. */
export function changes(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...missing(before, after).map((line) => `- ${line}`), ...missing(after, before).map((line) => `+ ${line}`)];
}

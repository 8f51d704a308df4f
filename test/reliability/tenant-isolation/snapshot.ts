import type { AccountTable } from '../../../src/store/tables.ts';
import { leftBehind, tables } from '../../../src/transfer/exported-tables.ts';
import type { TestService } from '../../kit/service/service.ts';

/** Expiry time of expired sessions. */
export const EXPIRED = 1;

/** Columns that change on reads or between nodes. */
const varyingColumns = ['last_used', 'lease_owner'];

const everyTable: readonly AccountTable[] = [...tables, ...leftBehind];

/** All rows of an account, one line each, without values that change on reads or over time. */
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
    // Expired rows are deleted by retention.
    for (const row of rows.filter((one) => !('expires_at' in one && one.expires_at === EXPIRED)))
      lines.add(`${table} ${JSON.stringify(row, (name, value) => (varyingColumns.includes(name) ? null : value))}`);
  }
  return lines;
}

/** Lines of `before` that are missing in `after`. */
export function missing(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...before].filter((line) => !after.has(line));
}

/** Differences: `- ` for removed lines, `+ ` for added ones. */
export function changes(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...missing(before, after).map((line) => `- ${line}`), ...missing(after, before).map((line) => `+ ${line}`)];
}

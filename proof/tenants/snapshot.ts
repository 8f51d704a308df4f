import type { AccountTable } from '../../src/store/tables.ts';
import { leftBehind, tables } from '../../src/transfer/contents.ts';
import type { TestService } from '../../test/harness/service.ts';

const everyTable: readonly AccountTable[] = [...tables, ...leftBehind];

/** Every row of an account, a line each. When a key or a session was last used changes by looking, and is left out. */
export async function rowsOf(
  { store }: TestService,
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
    for (const row of rows)
      lines.add(`${table} ${JSON.stringify('last_used' in row ? { ...row, last_used: null } : row)}`);
  }
  return lines;
}

/** What is in one and not in the other: `- ` what is gone, `+ ` what came. */
export function changes(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  const gone = [...before.difference(after)].map((line) => `- ${line}`);
  return [...gone, ...[...after.difference(before)].map((line) => `+ ${line}`)];
}

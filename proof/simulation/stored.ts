import type { DatabaseSync } from 'node:sqlite';
import { type Kind, kinds, nouns, resourceUrl } from '../../src/delivery/kinds.ts';
import type { Database, Fate } from '../ledgers.ts';

type Row = Record<string, string | number | null>;

const rowsOf = (database: DatabaseSync, sql: string): Row[] => database.prepare(sql).all() as Row[];
const pathOf = (target: unknown) => new URL(String(target)).pathname;

export const OWED = `select count(*) as owed from owed join hooks on hooks.hook_id = owed.hook_id
  where hooks.date_ended is null`;

/** What a database says of each hook: its failures, or why it was removed; nothing of those that somebody deleted. */
export function fatesIn(database: DatabaseSync): ReadonlyMap<string, Fate> {
  const rows = rowsOf(
    database,
    `select target, failures, ended_reason from hooks where ended_reason not in ('deleted', 'user_deleted')`,
  );
  return new Map(
    rows.map(({ target, failures, ended_reason: reason }) => [
      pathOf(target),
      reason === '' ? Number(failures) : (reason as Fate),
    ]),
  );
}

export function owedIn(database: DatabaseSync): ReadonlySet<string> {
  return new Set(rowsOf(database, 'select delivery_id from owed').map((row) => String(row.delivery_id)));
}

/** An occurrence as the feed shows it, in the order of its account. */
export type Fact = { readonly kind: string; readonly record: string; readonly userId: string };

/** All that a database holds in the end; what is wrong with it by itself, a line each. */
export type Stored = Database & {
  readonly facts: ReadonlyMap<string, readonly Fact[]>;
  readonly wrong: readonly string[];
};

const words = {
  event: 'event_name',
  client: 'client_name',
  project: 'project_name',
  task: 'task_name',
  subtask: 'subtask_name',
};

export function storedIn(database: DatabaseSync, baseUrl: string): Stored {
  const wrong = rowsOf(database, 'pragma integrity_check')
    .map((row) => String(row.integrity_check))
    .filter((line) => line !== 'ok');
  const records = new Map<string, string>();
  for (const [noun, column] of Object.entries(words)) {
    const { collection } = nouns[noun as keyof typeof words];
    for (const row of rowsOf(database, `select ${noun}_id as id, ${column} as word from ${noun}s`)) {
      records.set(`${baseUrl}/v2${collection}/${row.id}`, String(row.word));
    }
  }
  const facts = new Map<string, Fact[]>();
  const accounts = rowsOf(
    database,
    'select domain, accounts.account_id, position from accounts join positions using (account_id)',
  );
  for (const { domain, account_id, position } of accounts) {
    const rows = rowsOf(database, `select * from occurrences where account_id = ${account_id} order by position`);
    const places = rows.map((row) => row.position);
    if (places.length !== position || places.some((place, index) => place !== index + 1)) {
      wrong.push(`${domain} is at ${position}, and its occurrences are at ${places.join(' ')}`);
    }
    const told = rows.map((row) => ({
      kind: String(row.kind),
      userId: String(row.user_id),
      record: resourceUrl(baseUrl, row.kind as Kind, Number(row.record_id)),
    }));
    facts.set(String(domain), told);
  }
  const hooks = rowsOf(database, 'select * from hooks').map((row) => ({
    path: pathOf(row.target),
    kind: String(row.kind),
    userId: String(row.user_id),
    endedReason: row.date_ended === null ? null : String(row.ended_reason),
    address: `${baseUrl}/v2/hooks/${row.hook_id}`,
  }));
  const live = hooks.filter(({ endedReason }) => endedReason === null).map(({ path }) => path);
  wrong.push(...live.filter((path, index) => live.indexOf(path) !== index).map((path) => `${path} has two live hooks`));
  const occurrences = [...facts.values()].flat().filter(({ kind }) => kinds[kind as Kind].hooks);
  const [owed] = rowsOf(database, OWED);
  return { records, occurrences, hooks, owed: Number(owed?.owed), facts, wrong };
}

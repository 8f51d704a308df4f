import { sql } from 'kysely';
import type { Queries, Store } from '../store/store.ts';
import { contents, type MovedTable } from '../transfer/exported-tables.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import { judge } from './judge.ts';
import { kept, type ResourceType, type ResourceTypeName, resourceTypeOf } from './nouns.ts';
import { idText, type Work } from './work.ts';

/** How the records of a noun are numbered here: as they were, or anew since that many of their ids are taken or are none. */
export type Numbering =
  | { readonly kept: true }
  | { readonly kept: false; readonly taken: number; readonly strange: number };

export type Plan = {
  readonly accountId: number;
  /** Who gets the key: their id in the work file. */
  readonly owner: string;
  /** Whether they own the account whatever they were there: because the operator says so, or since nobody else does. */
  readonly isPromoted: boolean;
  readonly numbering: Readonly<Partial<Record<ResourceTypeName, Numbering>>>;
};

const QUERY_BATCH_SIZE = 1_000;

/** The id in the work file of an owner whom the source does not know. */
const NEW_OWNER = 'owner';

/**
 * Decides who owns the account, makes up what others refer to and the source does not show, and gives every record its
 * id here. Begins anew each time: nothing of an earlier plan stays.
 */
export async function plan(work: Work, store: Store, ownerEmail: string | undefined): Promise<Plan> {
  work.inOne(() => {
    work.run(`delete from records where origin = 'made'`);
    work.run('update records set new_id = number, is_left = 0 where new_id is not number or is_left = 1');
    work.run('delete from assignments');
  });
  const owner = work.inOne(() => {
    if (work.count(`select count(*) from records where noun = 'company' and origin = 'source'`) === 0)
      make(work, 'company', '1', {});
    standInForParents(work);
    const found = findOwner(work, ownerEmail);
    standInForUsers(work);
    return found;
  });
  const last = new Map((await store.sequences.all(store.read)).map((sequence) => [sequence.table, sequence.last]));
  const numbering: Partial<Record<ResourceTypeName, Numbering>> = {};
  for (const resourceType of kept)
    numbering[resourceType.name] = await number(work, store.read, resourceType, last.get(resourceType.table) ?? 0);
  const [account] = [...work.pages('company')].flat();
  if (account === undefined) throw new Error('no account was made');
  return { accountId: account.new_id, owner, isPromoted: ownerEmail !== undefined || !isOwned(work), numbering };
}

/** Whether an owner there can come as one. */
function isOwned(work: Work): boolean {
  const owners = work.all(`select json from records where noun = 'users' and lower(json ->> 'role') = 'owner'`);
  return owners.some(({ json }) => !('faults' in judge(resourceTypeOf('users'), String(json), 0)));
}

function make(work: Work, resourceType: ResourceTypeName, id: string, record: Readonly<Record<string, unknown>>): void {
  const json = JSON.stringify({ [resourceTypeOf(resourceType).id]: id, ...record });
  work.put(resourceType, { id, reading: 0, origin: 'made', json });
}

/** Whose key it is at the source, or whom `--owner-email` names; added where no list has them. */
function findOwner(work: Work, email: string | undefined): string {
  if (email !== undefined) {
    const [listed] = work.all(
      `select id from records where noun = 'users' and origin = 'source' and lower(json ->> 'email') = lower(?)`,
      email,
    );
    if (listed !== undefined) return String(listed.id);
    const id = onlyUser(work) ?? NEW_OWNER;
    make(work, 'users', id, { email, first_name: 'Account', last_name: 'Owner', role: 'owner' });
    return id;
  }
  const [caller] = work.all(`select id, json from records where noun = 'user' and origin = 'source'`);
  if (caller === undefined)
    throw new TransferError(
      'The source does not say whose key it is: --owner-email must say who owns the account here.',
    );
  const id = String(caller.id);
  if (work.count(`select count(*) from records where noun = 'users' and id = ?`, id) === 0)
    make(work, 'users', id, JSON.parse(String(caller.json)));
  return id;
}

/** Where no user is listed and all records are one user's, that is who moves in. */
function onlyUser(work: Work): string | undefined {
  if (work.list('users').state === 'read') return undefined;
  const ids = work.all(`select distinct json ->> 'user_id' as id from records where noun <> 'user' limit 3`);
  const named = ids.map(({ id }) => idText(id)).filter((id) => id !== undefined && id !== '0');
  return named.length === 1 ? named[0] : undefined;
}

/** Where the source does not show a noun, what others say of its records is enough to keep them together. */
function standInForParents(work: Work): void {
  for (const to of ['projects', 'clients'] as const) {
    if (work.list(to).state === 'read') continue;
    for (const resourceType of kept)
      for (const reference of resourceType.references.filter((one) => one.to === to)) {
        const { id: key } = resourceTypeOf(to);
        const shown = reference.shownAs ?? '';
        const found = work.all(
          `select json ->> ? as id, max(json ->> ?) as name from records where noun = ? and origin <> 'nameless' group by 1`,
          ...[`$.${reference.field}`, `$.${shown}`, resourceType.name],
        );
        for (const { id: raw, name } of found) {
          const id = idText(raw);
          if (id === undefined || id === '0' || isThere(work, to, id)) continue;
          make(work, to, id, { [key.replace(/_id$/, '_name')]: name || `${title(key)} ${id}` });
        }
      }
  }
}

const title = (key: string) => key.charAt(0).toUpperCase() + key.slice(1).replace(/_id$/, '');

function isThere(work: Work, resourceType: ResourceTypeName, id: string): boolean {
  return work.count('select count(*) from records where noun = ? and id = ?', resourceType, id) > 0;
}

/** Users whom records name and no list has come as users who have left. */
function standInForUsers(work: Work): void {
  const named = work.all(
    `select json ->> 'user_id' as id, '' as name from records where noun <> 'user' and origin <> 'nameless'
     union
     select iif(one.type = 'object', one.value ->> 'user_id', one.value), iif(one.type = 'object', one.value ->> 'user_name', '')
     from records, json_each(records.json, '$.users') as one
     where noun in ('projects', 'tasks', 'subtasks') and json_type(records.json, '$.users') = 'array'
       and one.type in ('object', 'text', 'integer')
     order by 2 desc`,
  );
  for (const { id: raw, name } of named) {
    const id = idText(raw);
    if (id === undefined || id === '0' || isThere(work, 'users', id)) continue;
    make(work, 'users', id, { has_left: true, first_name: name || `User ${id}` });
  }
}

/** Ids are kept where each is one and none is taken; else all records of the noun are numbered anew, in their order. */
async function number(
  work: Work,
  read: Queries,
  resourceType: ResourceType & { table: MovedTable },
  last: number,
): Promise<Numbering> {
  const strange = work.count(
    `select count(*) from records where noun = ? and number is null and origin <> 'nameless' and id <> ?`,
    ...[resourceType.name, NEW_OWNER],
  );
  const taken = await countTaken(work, read, resourceType);
  // Behind every id that either side has issued: an old id never leads to another record.
  const behind = Math.max(last, work.count('select max(number) from records where noun = ?', resourceType.name));
  const [which, isKept] = strange + taken === 0 ? ['and number is null', true] : ['', false];
  work.inOne(() => {
    work.run(
      `update records set new_id = ? + numbered.place from (
         select rowid as at, row_number() over (order by number is null, number, id) as place
         from records where noun = ? and origin <> 'nameless' ${which}) as numbered
       where records.rowid = numbered.at`,
      ...[behind, resourceType.name],
    );
  });
  return isKept ? { kept: true } : { kept: false, taken, strange };
}

async function countTaken(
  work: Work,
  read: Queries,
  { name, table }: ResourceType & { table: MovedTable },
): Promise<number> {
  const [column = ''] = contents[table].key;
  let taken = 0;
  for (let last = 0; ; ) {
    const rows = work.all(
      'select new_id from records where noun = ? and new_id > ? order by new_id limit ?',
      ...[name, last, QUERY_BATCH_SIZE],
    );
    if (rows.length === 0) return taken;
    const numbers = rows.map((row) => Number(row.new_id));
    const found =
      await sql`select 1 as one from ${sql.table(table)} where ${sql.ref(column)} in (${sql.join(numbers)})`.execute(
        read,
      );
    taken += found.rows.length;
    last = numbers.at(-1) ?? last;
  }
}

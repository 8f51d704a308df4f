import { sql } from 'kysely';
import type { Queries, Store } from '../store/store.ts';
import { type ExportedTable, exportRules } from '../transfer/exported-tables.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import { type ResourceType, type ResourceTypeName, resourceTypeOf, storedTypes } from './resource-types.ts';
import { validateRecord } from './validate-record.ts';
import { toIdText, type WorkFile } from './work-file.ts';

/**
 * Whether the ids of a resource type are kept or renumbered. They are renumbered if some are in use at this service
 * (`inUse` counts them) or are not valid ids (`invalid` counts them).
 */
export type IdNumbering =
  | { readonly kept: true }
  | { readonly kept: false; readonly inUse: number; readonly invalid: number };

export type ImportPlan = {
  readonly accountId: number;
  /** Id, in the work file, of the owner of the account, who gets the API key. */
  readonly owner: string;
  /**
   * Whether the owner gets the role regardless of the source, because the operator has named the owner or there is no
   * other owner.
   */
  readonly isPromoted: boolean;
  readonly numbering: Readonly<Partial<Record<ResourceTypeName, IdNumbering>>>;
};

const QUERY_BATCH_SIZE = 1_000;

/** The id, in the work file, of an owner who does not exist at the source. */
const NEW_OWNER = 'owner';

/**
 * Chooses the owner of the account, assigns ids, and creates placeholders for records that the source does not list
 * although other records refer to them. Discards the results of an earlier plan.
 */
export async function planImport(work: WorkFile, store: Store, ownerEmail: string | undefined): Promise<ImportPlan> {
  work.inTransaction(() => {
    work.run(`delete from records where origin = 'made'`);
    work.run('update records set new_id = number, is_left = 0 where new_id is not number or is_left = 1');
    work.run('delete from assignments');
  });
  const owner = work.inTransaction(() => {
    if (work.count(`select count(*) from records where noun = 'company' and origin = 'source'`) === 0)
      makePlaceholder(work, 'company', '1', {});
    makeMissingParents(work);
    const found = findOwner(work, ownerEmail);
    makeMissingUsers(work);
    return found;
  });
  const last = new Map((await store.sequences.all(store.read)).map((sequence) => [sequence.table, sequence.last]));
  const numbering: Partial<Record<ResourceTypeName, IdNumbering>> = {};
  for (const resourceType of storedTypes)
    numbering[resourceType.name] = await assignIds(work, store.read, resourceType, last.get(resourceType.table) ?? 0);
  const [account] = [...work.pages('company')].flat();
  if (account === undefined) throw new Error('no account was made');
  return {
    accountId: account.new_id,
    owner,
    isPromoted: ownerEmail !== undefined || !hasImportableOwner(work),
    numbering,
  };
}

/** Whether the source has an owner who can be imported. */
function hasImportableOwner(work: WorkFile): boolean {
  const owners = work.all(`select json from records where noun = 'users' and lower(json ->> 'role') = 'owner'`);
  return owners.some(({ json }) => !('faults' in validateRecord(resourceTypeOf('users'), String(json), 0)));
}

function makePlaceholder(
  work: WorkFile,
  resourceType: ResourceTypeName,
  id: string,
  record: Readonly<Record<string, unknown>>,
): void {
  const json = JSON.stringify({ [resourceTypeOf(resourceType).id]: id, ...record });
  work.putRecord(resourceType, { id, reading: 0, origin: 'made', json });
}

/**
 * Returns the id of the user named by `--owner-email`, or else of the user of the API key at the source. A user who is
 * not in the list is created.
 */
function findOwner(work: WorkFile, email: string | undefined): string {
  if (email !== undefined) {
    const [listed] = work.all(
      `select id from records where noun = 'users' and origin = 'source' and lower(json ->> 'email') = lower(?)`,
      email,
    );
    if (listed !== undefined) return String(listed.id);
    const id = findOnlyUser(work) ?? NEW_OWNER;
    makePlaceholder(work, 'users', id, { email, first_name: 'Account', last_name: 'Owner', role: 'owner' });
    return id;
  }
  const [caller] = work.all(`select id, json from records where noun = 'user' and origin = 'source'`);
  if (caller === undefined)
    throw new TransferError(
      'The source does not return the user of the key: set --owner-email to the owner of the account.',
    );
  const id = String(caller.id);
  if (work.count(`select count(*) from records where noun = 'users' and id = ?`, id) === 0)
    makePlaceholder(work, 'users', id, JSON.parse(String(caller.json)));
  return id;
}

/** If the source has no list of users, returns the only user that records refer to; undefined if there are several. */
function findOnlyUser(work: WorkFile): string | undefined {
  if (work.listState('users').state === 'read') return undefined;
  const ids = work.all(`select distinct json ->> 'user_id' as id from records where noun <> 'user' limit 3`);
  const named = ids.map(({ id }) => toIdText(id)).filter((id) => id !== undefined && id !== '0');
  return named.length === 1 ? named[0] : undefined;
}

/** Creates projects and clients that the source does not list, with the id and name that other records contain. */
function makeMissingParents(work: WorkFile): void {
  for (const to of ['projects', 'clients'] as const) {
    if (work.listState(to).state === 'read') continue;
    for (const resourceType of storedTypes)
      for (const reference of resourceType.references.filter((candidate) => candidate.to === to)) {
        const { id: key } = resourceTypeOf(to);
        const nameField = reference.nameField ?? '';
        const found = work.all(
          `select json ->> ? as id, max(json ->> ?) as name from records where noun = ? and origin <> 'nameless' group by 1`,
          ...[`$.${reference.field}`, `$.${nameField}`, resourceType.name],
        );
        for (const { id: raw, name } of found) {
          const id = toIdText(raw);
          if (id === undefined || id === '0' || exists(work, to, id)) continue;
          makePlaceholder(work, to, id, { [key.replace(/_id$/, '_name')]: name || `${typeTitle(key)} ${id}` });
        }
      }
  }
}

const typeTitle = (key: string) => key.charAt(0).toUpperCase() + key.slice(1).replace(/_id$/, '');

function exists(work: WorkFile, resourceType: ResourceTypeName, id: string): boolean {
  return work.count('select count(*) from records where noun = ? and id = ?', resourceType, id) > 0;
}

/** Creates, as deleted users, the users that records refer to but the source does not list. */
function makeMissingUsers(work: WorkFile): void {
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
    const id = toIdText(raw);
    if (id === undefined || id === '0' || exists(work, 'users', id)) continue;
    makePlaceholder(work, 'users', id, { has_left: true, first_name: name || `User ${id}` });
  }
}

/**
 * Keeps the ids of a type if all of them are valid and none is in use at this service. Otherwise, renumbers all records
 * of the type in their order.
 */
async function assignIds(
  work: WorkFile,
  read: Queries,
  resourceType: ResourceType & { table: ExportedTable },
  last: number,
): Promise<IdNumbering> {
  const invalid = work.count(
    `select count(*) from records where noun = ? and number is null and origin <> 'nameless' and id <> ?`,
    ...[resourceType.name, NEW_OWNER],
  );
  const inUse = await countIdsInUse(work, read, resourceType);
  // New ids are above every id that either service has issued, so that an old id never names another record.
  const minNewId = Math.max(last, work.count('select max(number) from records where noun = ?', resourceType.name));
  const [which, keepsIds] = invalid + inUse === 0 ? ['and number is null', true] : ['', false];
  work.inTransaction(() => {
    work.run(
      `update records set new_id = ? + numbered.place from (
         select rowid as at, row_number() over (order by number is null, number, id) as place
         from records where noun = ? and origin <> 'nameless' ${which}) as numbered
       where records.rowid = numbered.at`,
      ...[minNewId, resourceType.name],
    );
  });
  return keepsIds ? { kept: true } : { kept: false, inUse, invalid };
}

async function countIdsInUse(
  work: WorkFile,
  read: Queries,
  { name, table }: ResourceType & { table: ExportedTable },
): Promise<number> {
  const [column = ''] = exportRules[table].key;
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

import { sql } from 'kysely';
import type { Queries, Store } from '../store/store.ts';
import { type ExportedTable, exportRules } from '../transfer/exported-tables.ts';
import { TransferError } from '../transfer/operator-report.ts';
import { type ResourceType, type ResourceTypeName, resourceTypeOf, storedTypes } from './resource-types.ts';
import { validateRecord } from './validate-record.ts';
import { toIdText, type WorkFile } from './work-file.ts';

/**
 * Whether the ids of a resource type are kept or renumbered. They are renumbered if some are in use at this service
 * (`inUse` counts them) or are not valid ids (`invalid` counts them).
 */
type IdNumbering = { readonly kept: true } | { readonly kept: false; readonly inUse: number; readonly invalid: number };

export type ImportPlan = {
  readonly accountId: number;
  /** Id, in the work file, of the owner of the account, who gets the API key. */
  readonly owner: string;
  /**
   * Whether this user gets the role `owner` even if the source reports another role: the operator has named the user,
   * or the source has no owner who can be imported.
   */
  readonly isPromoted: boolean;
  readonly numbering: Readonly<Partial<Record<ResourceTypeName, IdNumbering>>>;
};

/** Number of ids that one query checks. */
const QUERY_BATCH_SIZE = 1_000;

/** The id, in the work file, of an owner who does not exist at the source. */
const OWNER_PLACEHOLDER_ID = 'owner';

/**
 * Chooses the owner of the account, assigns ids, and creates placeholders for records that the source does not list
 * although other records refer to them. Discards the results of an earlier plan.
 */
export async function planImport(
  workFile: WorkFile,
  store: Store,
  ownerEmail: string | undefined,
): Promise<ImportPlan> {
  workFile.inTransaction(() => {
    workFile.run(`delete from records where origin = 'made'`);
    workFile.run('update records set new_id = number, is_left = 0 where new_id is not number or is_left = 1');
    workFile.run('delete from assignments');
  });
  const accountOwnerId = workFile.inTransaction(() => {
    if (workFile.queryNumber(`select count(*) from records where noun = 'company' and origin = 'source'`) === 0)
      createPlaceholder(workFile, 'company', '1', {});
    createMissingParents(workFile);
    const ownerRecordId = findOrCreateOwnerId(workFile, ownerEmail);
    createMissingUsers(workFile);
    return ownerRecordId;
  });
  const lastIdByTable = new Map(
    (await store.sequences.readAll(store.read)).map((sequence) => [sequence.table, sequence.last]),
  );
  const numbering: Partial<Record<ResourceTypeName, IdNumbering>> = {};
  for (const resourceType of storedTypes)
    numbering[resourceType.name] = await assignIds(
      workFile,
      store.read,
      resourceType,
      lastIdByTable.get(resourceType.table) ?? 0,
    );
  const [accountRecord] = [...workFile.readRecordPages('company')].flat();
  if (accountRecord === undefined) throw new Error('no account was made');
  return {
    accountId: accountRecord.new_id,
    owner: accountOwnerId,
    isPromoted: ownerEmail !== undefined || !hasImportableOwner(workFile),
    numbering,
  };
}

/** Whether the source has an owner who can be imported. */
function hasImportableOwner(workFile: WorkFile): boolean {
  const owners = workFile.queryRows(
    `select json from records where noun = 'users' and lower(json ->> 'role') = 'owner'`,
  );
  return owners.some(({ json }) => !('faults' in validateRecord(resourceTypeOf('users'), String(json), 0)));
}

function createPlaceholder(
  workFile: WorkFile,
  typeName: ResourceTypeName,
  id: string,
  fields: Readonly<Record<string, unknown>>,
): void {
  const json = JSON.stringify({ [resourceTypeOf(typeName).idField]: id, ...fields });
  workFile.putRecord(typeName, { id, reading: 0, origin: 'made', json });
}

/**
 * Returns the id of the user named by `--owner-email`, or else of the user of the API key at the source. A user who is
 * not in the list is created.
 */
function findOrCreateOwnerId(workFile: WorkFile, email: string | undefined): string {
  if (email !== undefined) {
    const [listedUser] = workFile.queryRows(
      `select id from records where noun = 'users' and origin = 'source' and lower(json ->> 'email') = lower(?)`,
      email,
    );
    if (listedUser !== undefined) return String(listedUser.id);
    const id = findOnlyUserId(workFile) ?? OWNER_PLACEHOLDER_ID;
    createPlaceholder(workFile, 'users', id, { email, first_name: 'Account', last_name: 'Owner', role: 'owner' });
    return id;
  }
  const [caller] = workFile.queryRows(`select id, json from records where noun = 'user' and origin = 'source'`);
  if (caller === undefined)
    throw new TransferError(
      'The source does not return the user of the key: set --owner-email to the owner of the account.',
    );
  const id = String(caller.id);
  if (workFile.queryNumber(`select count(*) from records where noun = 'users' and id = ?`, id) === 0)
    createPlaceholder(workFile, 'users', id, JSON.parse(String(caller.json)));
  return id;
}

/** If the source has no list of users, returns the only user that records refer to; undefined if there are several. */
function findOnlyUserId(workFile: WorkFile): string | undefined {
  if (workFile.getListState('users').state === 'read') return undefined;
  const userIdRows = workFile.queryRows(
    `select distinct json ->> 'user_id' as id from records where noun <> 'user' limit 3`,
  );
  const userIds = userIdRows.map(({ id }) => toIdText(id)).filter((id) => id !== undefined && id !== '0');
  return userIds.length === 1 ? userIds[0] : undefined;
}

/** Creates projects and clients that the source does not list, with the id and name that other records contain. */
function createMissingParents(workFile: WorkFile): void {
  for (const parentType of ['projects', 'clients'] as const) {
    if (workFile.getListState(parentType).state === 'read') continue;
    for (const resourceType of storedTypes)
      for (const reference of resourceType.references.filter((candidate) => candidate.referencedType === parentType)) {
        const { idField: parentIdField } = resourceTypeOf(parentType);
        const nameField = reference.nameField ?? '';
        const referencedRows = workFile.queryRows(
          `select json ->> ? as id, max(json ->> ?) as name from records where noun = ? and origin <> 'nameless' group by 1`,
          ...[`$.${reference.field}`, `$.${nameField}`, resourceType.name],
        );
        for (const { id: rawId, name } of referencedRows) {
          const id = toIdText(rawId);
          if (id === undefined || id === '0' || hasRecord(workFile, parentType, id)) continue;
          createPlaceholder(workFile, parentType, id, {
            [parentIdField.replace(/_id$/, '_name')]: name || `${formatTypeTitle(parentIdField)} ${id}`,
          });
        }
      }
  }
}

const formatTypeTitle = (idField: string) => idField.charAt(0).toUpperCase() + idField.slice(1).replace(/_id$/, '');

function hasRecord(workFile: WorkFile, typeName: ResourceTypeName, id: string): boolean {
  return workFile.queryNumber('select count(*) from records where noun = ? and id = ?', typeName, id) > 0;
}

/** Creates, as deleted users, the users that records refer to but the source does not list. */
function createMissingUsers(workFile: WorkFile): void {
  const referencedUsers = workFile.queryRows(
    `select json ->> 'user_id' as id, '' as name from records where noun <> 'user' and origin <> 'nameless'
     union
     select iif(one.type = 'object', one.value ->> 'user_id', one.value), iif(one.type = 'object', one.value ->> 'user_name', '')
     from records, json_each(records.json, '$.users') as one
     where noun in ('projects', 'tasks', 'subtasks') and json_type(records.json, '$.users') = 'array'
       and one.type in ('object', 'text', 'integer')
     order by 2 desc`,
  );
  for (const { id: rawId, name } of referencedUsers) {
    const id = toIdText(rawId);
    if (id === undefined || id === '0' || hasRecord(workFile, 'users', id)) continue;
    createPlaceholder(workFile, 'users', id, { has_left: true, first_name: name || `User ${id}` });
  }
}

/**
 * Keeps the ids of a type if all of them are valid and none is in use at this service. Otherwise, renumbers all records
 * of the type in their order.
 */
async function assignIds(
  workFile: WorkFile,
  queries: Queries,
  resourceType: ResourceType & { table: ExportedTable },
  lastIssuedId: number,
): Promise<IdNumbering> {
  const invalidCount = workFile.queryNumber(
    `select count(*) from records where noun = ? and number is null and origin <> 'nameless' and id <> ?`,
    ...[resourceType.name, OWNER_PLACEHOLDER_ID],
  );
  const inUseCount = await countIdsInUse(workFile, queries, resourceType);
  // New ids are above every id that either service has issued, so that an old id never names another record.
  const highestUsedId = Math.max(
    lastIssuedId,
    workFile.queryNumber('select max(number) from records where noun = ?', resourceType.name),
  );
  const [rowFilter, keepsIds] = invalidCount + inUseCount === 0 ? ['and number is null', true] : ['', false];
  workFile.inTransaction(() => {
    workFile.run(
      `update records set new_id = ? + numbered.place from (
         select rowid as at, row_number() over (order by number is null, number, id) as place
         from records where noun = ? and origin <> 'nameless' ${rowFilter}) as numbered
       where records.rowid = numbered.at`,
      ...[highestUsedId, resourceType.name],
    );
  });
  return keepsIds ? { kept: true } : { kept: false, inUse: inUseCount, invalid: invalidCount };
}

async function countIdsInUse(
  workFile: WorkFile,
  queries: Queries,
  { name, table }: ResourceType & { table: ExportedTable },
): Promise<number> {
  const [idColumn = ''] = exportRules[table].keyColumns;
  let inUseCount = 0;
  for (let lastNewId = 0; ; ) {
    const rows = workFile.queryRows(
      'select new_id from records where noun = ? and new_id > ? order by new_id limit ?',
      ...[name, lastNewId, QUERY_BATCH_SIZE],
    );
    if (rows.length === 0) return inUseCount;
    const newIds = rows.map((row) => Number(row.new_id));
    const queryResult =
      await sql`select 1 as one from ${sql.table(table)} where ${sql.ref(idColumn)} in (${sql.join(newIds)})`.execute(
        queries,
      );
    inUseCount += queryResult.rows.length;
    lastNewId = newIds.at(-1) ?? lastNewId;
  }
}

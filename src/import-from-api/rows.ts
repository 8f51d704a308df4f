import type { FieldError } from '../problems.ts';
import { TransferError } from '../transfer/operator-report.ts';
import type { ImportPlan } from './plan.ts';
import { PAGE_SIZE, parsePage } from './read.ts';
import type { ResourceType } from './resource-types.ts';
import type { SourceClient } from './source.ts';
import { type FieldCorrection, isRawRecord, type RawRecord, validateRecord } from './validate-record.ts';
import { type StoredRecord, toIdText, type WorkFile } from './work-file.ts';

/** A row for its table, with the columns in any order, and its differences from the record at the source. */
export type ConvertedRow = {
  readonly row: Readonly<Record<string, unknown>>;
  readonly changes: readonly FieldCorrection[];
};

/**
 * A record that cannot be imported. `placeholderRow` takes its place, so that other records can still refer to the
 * record.
 */
type SkippedRecord = { readonly faults: readonly FieldError[]; readonly placeholderRow?: ConvertedRow };

export type RowDeps = {
  readonly workFile: WorkFile;
  readonly plan: ImportPlan;
  readonly domain: string;
  /** Timestamp of the import, milliseconds since the epoch. */
  readonly importedAt: number;
};

/** Converts records to rows: validates their fields and resolves their references to ids of this service. */
export class RowBuilder {
  readonly #deps: RowDeps;
  readonly #usedEmails = new Set<string>();

  constructor(deps: RowDeps) {
    this.#deps = deps;
  }

  buildRow(resourceType: ResourceType, record: StoredRecord): ConvertedRow | SkippedRecord {
    switch (resourceType.name) {
      case 'company':
        return this.#buildAccountRow(resourceType, record);
      case 'users':
        return this.#buildUserRow(resourceType, record);
      default:
        return this.#buildRecordRow(resourceType, record);
    }
  }

  #buildAccountRow(
    resourceType: ResourceType,
    { json, new_id: account_id }: StoredRecord,
  ): ConvertedRow | SkippedRecord {
    const { domain, importedAt } = this.#deps;
    const emptyTexts = Object.fromEntries(Object.keys(resourceType.fields).map((name) => [name, '']));
    const accountColumns = { account_id, domain, time_zone: 'UTC' };
    const validationResult = validateRecord(resourceType, json, importedAt);
    if ('faults' in validationResult) {
      const row = { ...emptyTexts, company_name: domain, ...accountColumns, date_created: importedAt };
      return { faults: validationResult.faults, placeholderRow: { row, changes: [] } };
    }
    const inputFields: Readonly<Record<string, unknown>> = validationResult.input;
    const company_name = inputFields.company_name || domain;
    const row = {
      ...emptyTexts,
      ...inputFields,
      company_name,
      ...accountColumns,
      date_created: validationResult.timestamps.date_created,
    };
    return { row, changes: validationResult.changes };
  }

  #buildUserRow(resourceType: ResourceType, record: StoredRecord): ConvertedRow | SkippedRecord {
    const { plan, importedAt } = this.#deps;
    const rawRecord: RawRecord = toRawRecord(JSON.parse(record.json));
    if (record.origin === 'made' && rawRecord.has_left === true)
      return this.buildFormerUserRow(record, String(rawRecord.first_name));
    const validationResult = validateRecord(resourceType, record.json, importedAt);
    if ('faults' in validationResult) return this.toSkippedUser(record, rawRecord, validationResult.faults);
    const { input, timestamps, changes } = validationResult;
    const userFields = { role: 'member', email: '', ...input };
    if (this.#usedEmails.has(userFields.email.toLowerCase()))
      return this.toSkippedUser(record, rawRecord, [{ field: 'email', message: 'is also that of another user' }]);
    this.#usedEmails.add(userFields.email.toLowerCase());
    const { date_created, date_modified } = timestamps;
    const row = {
      ...userFields,
      ...this.#buildIdColumns(resourceType, record),
      date_created,
      date_modified,
      date_deleted: null,
    };
    if (!plan.isPromoted || record.id !== plan.owner || userFields.role === 'owner') return { row, changes };
    const roleChange = { field: 'role', message: 'owns the account here', was: rawRecord.role };
    return { row: { ...row, role: 'owner' }, changes: [...changes, roleChange] };
  }

  /** Converts a user who cannot be imported to a deleted user, so that the user's records keep their creator. */
  toSkippedUser(record: StoredRecord, rawRecord: RawRecord, faults: readonly FieldError[]): SkippedRecord {
    if (record.id === this.#deps.plan.owner)
      throw new TransferError(
        ...faults.map(({ field, message }) => `The ${field} of the owner ${message}.`),
        '--owner-email can name another owner.',
      );
    const name = typeof rawRecord.user_name === 'string' ? rawRecord.user_name : `User ${record.id}`;
    return { faults, placeholderRow: this.buildFormerUserRow(record, name) };
  }

  buildFormerUserRow({ new_id: user_id }: StoredRecord, name: string): ConvertedRow {
    const { importedAt, plan } = this.#deps;
    const first_name = [...name.toWellFormed().replaceAll('\0', '')].slice(0, 100).join('');
    const userFields = { email: `user-${user_id}@has-left.invalid`, first_name, last_name: '', role: 'member' };
    const dates = { date_created: importedAt, date_modified: null, date_deleted: importedAt };
    return { row: { user_id, account_id: plan.accountId, ...userFields, ...dates }, changes: [] };
  }

  #buildRecordRow(resourceType: ResourceType, record: StoredRecord): ConvertedRow | SkippedRecord {
    const { workFile, importedAt } = this.#deps;
    const rawRecord = toRawRecord(JSON.parse(record.json));
    const validationResult = validateRecord(resourceType, record.json, importedAt);
    const resolvedReferences = this.#resolveReferences(resourceType, rawRecord);
    const assignedUserIds =
      resourceType.assignmentType === undefined ? [] : this.#resolveAssignedUsers(rawRecord.users);
    const faults = [
      ...('faults' in validationResult ? validationResult.faults : []),
      ...resolvedReferences.faults,
      ...(assignedUserIds === undefined ? [{ field: 'users', message: 'must be a list of user ids' }] : []),
    ];
    if ('faults' in validationResult || assignedUserIds === undefined || faults.length > 0) return { faults };
    const insertSql = 'insert or ignore into assignments (noun, record_id, user_id) values (?, ?, ?)';
    for (const userId of assignedUserIds)
      workFile.run(insertSql, resourceType.assignmentType ?? '', record.new_id, userId);
    const row = {
      ...validationResult.input,
      ...validationResult.timestamps,
      ...resolvedReferences.references,
      ...this.#buildIdColumns(resourceType, record),
    };
    return { row, changes: [...validationResult.changes, ...resolvedReferences.changes] };
  }

  #buildIdColumns({ idField }: ResourceType, { new_id }: StoredRecord): Readonly<Record<string, number>> {
    return { [idField]: new_id, account_id: this.#deps.plan.accountId };
  }

  /**
   * Resolves the references of a record to ids of this service. If a reference cannot be resolved, it becomes 0 if it
   * is optional; otherwise, the record is left out.
   */
  #resolveReferences(resourceType: ResourceType, rawRecord: RawRecord) {
    const { workFile } = this.#deps;
    const references: Record<string, number> = {
      user_id: workFile.findNewId('users', toIdText(rawRecord.user_id) ?? '0') ?? 0,
    };
    const changes: FieldCorrection[] = [];
    const faults: FieldError[] = [];
    for (const { field, referencedType, isRequired } of resourceType.references) {
      const id = toIdText(rawRecord[field]) ?? '0';
      const newId = workFile.findNewId(referencedType, id);
      references[field] = newId ?? 0;
      const message = `refers to none of the imported ${referencedType}`;
      if (newId === undefined && isRequired) faults.push({ field, message });
      else if (newId === undefined && id !== '0') changes.push({ field, message, was: rawRecord[field] });
    }
    return { references, changes, faults };
  }

  #resolveAssignedUsers(users: unknown): readonly number[] | undefined {
    if (users === undefined || users === null || users === '') return [];
    if (!Array.isArray(users)) return undefined;
    const ids = users.map((user) =>
      this.#deps.workFile.findNewId('users', toIdText(isRawRecord(user) ? user.user_id : user) ?? ''),
    );
    return ids.every((id) => id !== undefined) ? ids : undefined;
  }
}

function toRawRecord(value: unknown): RawRecord {
  return isRawRecord(value) ? value : {};
}

/** A hook at the source. Sources without `events` and `scope` have hooks of one kind, for what their user causes. */
export type SourceHook = {
  /** The only kind; empty for several. */
  readonly event: string;
  readonly target_url: string;
  readonly events?: unknown;
  readonly scope?: unknown;
  readonly project_id?: unknown;
  readonly name?: unknown;
  readonly enabled?: unknown;
  /** Names of its headers. A source does not show the values. */
  readonly headers?: unknown;
};

/** Maximum number of hooks that are read from a source, so that reading ends even if the list never does. */
const MAX_HOOKS = 10_000;

/** Lists the live hooks of the key's user at the source; undefined if the source has no list of hooks (X1). */
export async function fetchSourceHooks(source: SourceClient): Promise<readonly SourceHook[] | undefined> {
  const hooks: SourceHook[] = [];
  for (let offset = 0; ; ) {
    const reply = await source.get(['hooks'], { limit: PAGE_SIZE, offset });
    if (reply.state !== 'found') return undefined;
    const { total, records } = parsePage(reply.body, 'hooks');
    hooks.push(...records.filter(isLiveHook));
    offset += records.length;
    if (records.length === 0 || total === null || offset >= Math.min(total, MAX_HOOKS)) return hooks;
  }
}

function isLiveHook(hook: unknown): hook is SourceHook {
  if (typeof hook !== 'object' || hook === null) return false;
  const { event, target_url, state }: { event?: unknown; target_url?: unknown; state?: unknown } = hook;
  return typeof event === 'string' && typeof target_url === 'string' && state !== 'ended';
}

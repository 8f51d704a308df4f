import type { FieldError } from '../problems.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import type { Plan } from './plan.ts';
import { PAGE_SIZE, pageOf } from './read.ts';
import type { ResourceType } from './resource-types.ts';
import type { Source } from './source.ts';
import { type Change, isRaw, type Raw, validateRecord } from './validate-record.ts';
import { idText, type StoredRecord, type Work } from './work-file.ts';

/** A row for its table, with the columns in any order, and its differences from the record at the source. */
export type ConvertedRow = { readonly row: Readonly<Record<string, unknown>>; readonly changes: readonly Change[] };

/** A record that cannot be imported. `instead` is a placeholder row, for other records that refer to the record. */
export type SkippedRow = { readonly faults: readonly FieldError[]; readonly instead?: ConvertedRow };

export type RowPorts = {
  readonly work: Work;
  readonly plan: Plan;
  readonly domain: string;
  /** Timestamp of the import, milliseconds since the epoch. */
  readonly now: number;
};

/** Converts records to rows: validates their fields and resolves their references to ids of this service. */
export class RowBuilder {
  readonly #ports: RowPorts;
  readonly #emails = new Set<string>();

  constructor(ports: RowPorts) {
    this.#ports = ports;
  }

  make(resourceType: ResourceType, record: StoredRecord): ConvertedRow | SkippedRow {
    switch (resourceType.name) {
      case 'company':
        return this.#account(resourceType, record);
      case 'users':
        return this.#user(resourceType, record);
      default:
        return this.#record(resourceType, record);
    }
  }

  #account(resourceType: ResourceType, { json, new_id: account_id }: StoredRecord): ConvertedRow | SkippedRow {
    const { domain, now } = this.#ports;
    const empty = Object.fromEntries(Object.keys(resourceType.fields).map((name) => [name, '']));
    const own = { account_id, domain, time_zone: 'UTC' };
    const converted = validateRecord(resourceType, json, now);
    if ('faults' in converted) {
      const row = { ...empty, company_name: domain, ...own, date_created: now };
      return { faults: converted.faults, instead: { row, changes: [] } };
    }
    const texts: Readonly<Record<string, unknown>> = converted.input;
    const company_name = texts.company_name || domain;
    const row = { ...empty, ...texts, company_name, ...own, date_created: converted.moments.date_created };
    return { row, changes: converted.changes };
  }

  #user(resourceType: ResourceType, record: StoredRecord): ConvertedRow | SkippedRow {
    const { plan, now } = this.#ports;
    const raw: Raw = asRaw(JSON.parse(record.json));
    if (record.origin === 'made' && raw.has_left === true) return this.formerUser(record, String(raw.first_name));
    const converted = validateRecord(resourceType, record.json, now);
    if ('faults' in converted) return this.toFormerUser(record, raw, converted.faults);
    const { input, moments, changes } = converted;
    const person = { role: 'member', email: '', ...input };
    if (this.#emails.has(person.email.toLowerCase()))
      return this.toFormerUser(record, raw, [{ field: 'email', message: 'is also that of another user' }]);
    this.#emails.add(person.email.toLowerCase());
    const { date_created, date_modified } = moments;
    const row = { ...person, ...this.#ids(resourceType, record), date_created, date_modified, date_deleted: null };
    if (!plan.isPromoted || record.id !== plan.owner || person.role === 'owner') return { row, changes };
    const promoted = { field: 'role', message: 'owns the account here', was: raw.role };
    return { row: { ...row, role: 'owner' }, changes: [...changes, promoted] };
  }

  /** Converts a user who cannot be imported to a deleted user, so that the user's records keep their creator. */
  toFormerUser(record: StoredRecord, raw: Raw, faults: readonly FieldError[]): SkippedRow {
    if (record.id === this.#ports.plan.owner)
      throw new TransferError(
        ...faults.map(({ field, message }) => `The ${field} of the owner ${message}.`),
        '--owner-email can name another owner.',
      );
    const name = typeof raw.user_name === 'string' ? raw.user_name : `User ${record.id}`;
    return { faults, instead: this.formerUser(record, name) };
  }

  formerUser({ new_id: user_id }: StoredRecord, name: string): ConvertedRow {
    const { now, plan } = this.#ports;
    const first_name = [...name.toWellFormed().replaceAll('\0', '')].slice(0, 100).join('');
    const person = { email: `user-${user_id}@has-left.invalid`, first_name, last_name: '', role: 'member' };
    const dates = { date_created: now, date_modified: null, date_deleted: now };
    return { row: { user_id, account_id: plan.accountId, ...person, ...dates }, changes: [] };
  }

  #record(resourceType: ResourceType, record: StoredRecord): ConvertedRow | SkippedRow {
    const { work, now } = this.#ports;
    const raw = asRaw(JSON.parse(record.json));
    const converted = validateRecord(resourceType, record.json, now);
    const resolved = this.#resolveReferences(resourceType, raw);
    const users = resourceType.assignable === undefined ? [] : this.#assigned(raw.users);
    const faults = [
      ...('faults' in converted ? converted.faults : []),
      ...resolved.faults,
      ...(users === undefined ? [{ field: 'users', message: 'must be a list of user ids' }] : []),
    ];
    if ('faults' in converted || users === undefined || faults.length > 0) return { faults };
    const assign = 'insert or ignore into assignments (noun, record_id, user_id) values (?, ?, ?)';
    for (const userId of users) work.run(assign, resourceType.assignable ?? '', record.new_id, userId);
    const row = {
      ...converted.input,
      ...converted.moments,
      ...resolved.references,
      ...this.#ids(resourceType, record),
    };
    return { row, changes: [...converted.changes, ...resolved.changes] };
  }

  #ids({ id }: ResourceType, { new_id }: StoredRecord): Readonly<Record<string, number>> {
    return { [id]: new_id, account_id: this.#ports.plan.accountId };
  }

  /**
   * Resolves the references of a record to ids of this service. If a reference cannot be resolved, it becomes 0 if it
   * is optional; otherwise, the record is left out.
   */
  #resolveReferences(resourceType: ResourceType, raw: Raw) {
    const { work } = this.#ports;
    const references: Record<string, number> = { user_id: work.newId('users', idText(raw.user_id) ?? '0') ?? 0 };
    const changes: Change[] = [];
    const faults: FieldError[] = [];
    for (const { field, to, required } of resourceType.references) {
      const id = idText(raw[field]) ?? '0';
      const found = work.newId(to, id);
      references[field] = found ?? 0;
      const message = `refers to none of the imported ${to}`;
      if (found === undefined && required) faults.push({ field, message });
      else if (found === undefined && id !== '0') changes.push({ field, message, was: raw[field] });
    }
    return { references, changes, faults };
  }

  #assigned(users: unknown): readonly number[] | undefined {
    if (users === undefined || users === null || users === '') return [];
    if (!Array.isArray(users)) return undefined;
    const ids = users.map((user) => this.#ports.work.newId('users', idText(isRaw(user) ? user.user_id : user) ?? ''));
    return ids.every((id) => id !== undefined) ? ids : undefined;
  }
}

function asRaw(value: unknown): Raw {
  return isRaw(value) ? value : {};
}

/** A hook at the source. */
export type ForeignHook = { readonly event: string; readonly target_url: string };

/** Maximum number of hooks read from a source, in case its list grows or never ends. */
const MAX_HOOKS = 10_000;

/** Lists the live hooks of the key's user at the source; undefined if the source has no list of hooks (X1). */
export async function hooksOf(source: Source): Promise<readonly ForeignHook[] | undefined> {
  const found: ForeignHook[] = [];
  for (let offset = 0; ; ) {
    const reply = await source.get(['hooks'], { limit: PAGE_SIZE, offset });
    if (reply.state !== 'found') return undefined;
    const { total, records } = pageOf(reply.body, 'hooks');
    found.push(...records.filter(isLive));
    offset += records.length;
    if (records.length === 0 || total === null || offset >= Math.min(total, MAX_HOOKS)) return found;
  }
}

function isLive(hook: unknown): hook is ForeignHook {
  if (typeof hook !== 'object' || hook === null) return false;
  const { event, target_url, state }: { event?: unknown; target_url?: unknown; state?: unknown } = hook;
  return typeof event === 'string' && typeof target_url === 'string' && state !== 'ended';
}

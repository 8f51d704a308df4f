import { type RawBuilder, sql } from 'kysely';
import { type AccountTable, type Column, type StorageType, type Tables, tableColumns } from '../store/tables.ts';

/**
 * The tables of an account that are exported, including the state of its hooks. Sessions and invitations are not
 * exported, because they are valid only at the service that created them; subscriptions, because the import derives them
 * from the hooks; read receipts, because they are kept for 30
 * days and the new service records them again; hook alerts and mails, because their links lead to the old service.
 */
export type ExportedTable = Exclude<AccountTable, NotExportedTable>;

export const tablesNotExported = [
  'sessions',
  'invitations',
  'subscriptions',
  'read_receipts',
  'hook_alerts',
  'mails',
] as const satisfies readonly AccountTable[];

type NotExportedTable = (typeof tablesNotExported)[number];

/**
 * Rule for the export of a table. All columns except `excludedColumns` are exported, in the order of `tableColumns`.
 */
type ExportRule<Name extends string> = {
  /** The columns of a unique key, which defines the order of the rows. */
  readonly keyColumns: readonly Name[];
  /** The table whose sequence issues the ids of this table; usually the table itself. */
  readonly idTable?: ExportedTable;
  readonly excludedColumns?: readonly Name[];
  /** SQL whose value is exported in place of a column. */
  readonly replacedColumns?: { readonly [N in Name]?: RawBuilder<unknown> };
};

/**
 * Export rules of all exported tables. Rows come after the rows that they refer to; hooks, deliveries and credentials
 * come last. The type requires a rule for every table.
 */
export const exportRules: { readonly [T in ExportedTable]: ExportRule<keyof Tables[T] & string> } = {
  accounts: { keyColumns: ['account_id'], idTable: 'accounts' },
  positions: { keyColumns: ['account_id'] },
  users: { keyColumns: ['user_id'], idTable: 'users' },
  clients: { keyColumns: ['client_id'], idTable: 'clients' },
  contacts: { keyColumns: ['contact_id'], idTable: 'contacts' },
  projects: { keyColumns: ['project_id'], idTable: 'projects' },
  tasks: { keyColumns: ['task_id'], idTable: 'tasks' },
  subtasks: { keyColumns: ['subtask_id'], idTable: 'subtasks' },
  events: { keyColumns: ['event_id'], idTable: 'events' },
  imported_events: { keyColumns: ['account_id', 'entry_hash'] },
  assignments: { keyColumns: ['account_id', 'resource_type', 'record_id', 'user_id'] },
  time_entries: { keyColumns: ['entry_id'], idTable: 'time_entries' },
  comments: { keyColumns: ['comment_id'], idTable: 'comments' },
  teams: { keyColumns: ['team_id'], idTable: 'teams' },
  team_assignments: { keyColumns: ['account_id', 'resource_type', 'record_id', 'team_id'] },
  occurrences: { keyColumns: ['account_id', 'position'] },
  audit: { keyColumns: ['audit_id'], idTable: 'audit' },
  // Leases are not exported, because no node of the new service has leased the hooks yet. The headers of a hook are
  // secrets, and never exported. Without them its target would refuse the notifications, so it arrives disabled.
  hooks: {
    keyColumns: ['hook_id'],
    idTable: 'hooks',
    excludedColumns: ['lease_owner', 'unacknowledged', 'headers'],
    replacedColumns: { enabled: sql`case when headers is null then enabled else 0 end` },
  },
  targets: { keyColumns: ['target_hash'] },
  finalized_deliveries: { keyColumns: ['delivery_id'], idTable: 'pending_deliveries' },
  attempts: { keyColumns: ['attempt_id'], idTable: 'attempts' },
  pending_deliveries: { keyColumns: ['delivery_id'], idTable: 'pending_deliveries' },
  manual_attempts: { keyColumns: ['manual_attempt_id'], idTable: 'manual_attempts' },
  api_keys: { keyColumns: ['key_id'], idTable: 'api_keys' },
  calendars: { keyColumns: ['calendar_id'], idTable: 'calendars' },
  passphrases: { keyColumns: ['user_id'] },
  idempotency: { keyColumns: ['key_id', 'idempotency_key'] },
};

/** The exported tables, in the order of the export. */
export const exportedTables = Object.keys(exportRules) as readonly ExportedTable[];

export function isExportedTable(name: string): name is ExportedTable {
  return Object.hasOwn(exportRules, name);
}

/** A row as it is exported: values by column name. */
export type ExportedRow = Readonly<Record<string, string | number | null>>;

const columnTypesByTable = new Map(
  exportedTables.map((table) => {
    const excludedColumns: readonly string[] = exportRules[table].excludedColumns ?? [];
    const columnTypes = Object.entries<Column>(tableColumns[table]).map(
      ([name, { storageType }]): [string, StorageType] => [name, storageType],
    );
    return [table, columnTypes.filter(([name]) => !excludedColumns.includes(name))];
  }),
);

/** Returns the exported columns of a table, in the order in which a line contains them. */
export function exportedColumnsOf(table: ExportedTable): readonly string[] {
  return (columnTypesByTable.get(table) ?? []).map(([column]) => column);
}

/** Returns the SQL of the exported columns of a table. */
export function buildExportedColumns(table: ExportedTable): RawBuilder<unknown> {
  const replacedColumns: Readonly<Record<string, RawBuilder<unknown>>> = exportRules[table].replacedColumns ?? {};
  return sql.join(
    exportedColumnsOf(table).map((column) => {
      const replacement = replacedColumns[column];
      return replacement === undefined ? sql.ref(column) : sql`${replacement} as ${sql.ref(column)}`;
    }),
  );
}

/** Validates a row. Returns the error as a text that follows the name of the table; undefined if the row is valid. */
export function findRowError(table: ExportedTable, row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return ' must be an object';
  const columnTypes = columnTypesByTable.get(table) ?? [];
  const rowEntries: [string, unknown][] = Object.entries(row);
  for (const [index, [column, cellType]] of columnTypes.entries()) {
    const [name, value] = rowEntries[index] ?? [];
    if (name !== column) return Object.hasOwn(row, column) ? `.${column} is out of order` : `.${column} is missing`;
    if (!isValidCell(cellType, value)) return `.${column} must be a ${cellType}`;
  }
  const [extraColumn] = rowEntries[columnTypes.length] ?? [];
  return extraColumn === undefined ? undefined : `.${extraColumn} is unknown`;
}

function isValidCell(cellType: StorageType, value: unknown): boolean {
  switch (cellType) {
    case 'number':
      return Number.isSafeInteger(value);
    case 'text':
      return typeof value === 'string';
    case 'number or null':
      return value === null || Number.isSafeInteger(value);
    case 'text or null':
      return value === null || typeof value === 'string';
  }
}

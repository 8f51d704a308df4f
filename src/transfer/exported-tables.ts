import { type AccountTable, type CellType, type Column, type Tables, tableColumns } from '../store/tables.ts';

/**
 * The tables of an account that are exported, including the state of its hooks. Sessions and invitations are not
 * exported, because they are valid only at the service that created them; read receipts, because they are kept for 30
 * days and the new service records them again; hook alerts and mails, because their links lead to the old service.
 */
export type ExportedTable = Exclude<AccountTable, NotExportedTable>;

export const tablesNotExported = [
  'sessions',
  'invitations',
  'read_receipts',
  'hook_alerts',
  'mails',
] as const satisfies readonly AccountTable[];

type NotExportedTable = (typeof tablesNotExported)[number];

/**
 * Rule for the export of a table. All its columns are exported in the order of `tableColumns`, except `excludedColumns`.
 */
type ExportRule<Name extends string> = {
  /** A unique key, which defines the order of the rows. */
  readonly key: readonly Name[];
  /** The table that issues the ids of this table; usually the table itself. */
  readonly idTable?: ExportedTable;
  readonly excludedColumns?: readonly Name[];
};

/**
 * Export rules of all exported tables. Rows come after the rows that they refer to; hooks, deliveries and credentials
 * come last. The type requires a rule for every table.
 */
export const exportRules: { readonly [T in ExportedTable]: ExportRule<keyof Tables[T] & string> } = {
  accounts: { key: ['account_id'], idTable: 'accounts' },
  positions: { key: ['account_id'] },
  users: { key: ['user_id'], idTable: 'users' },
  clients: { key: ['client_id'], idTable: 'clients' },
  contacts: { key: ['contact_id'], idTable: 'contacts' },
  projects: { key: ['project_id'], idTable: 'projects' },
  tasks: { key: ['task_id'], idTable: 'tasks' },
  subtasks: { key: ['subtask_id'], idTable: 'subtasks' },
  events: { key: ['event_id'], idTable: 'events' },
  imported_events: { key: ['account_id', 'entry_hash'] },
  assignments: { key: ['account_id', 'resource_type', 'record_id', 'user_id'] },
  time_entries: { key: ['entry_id'], idTable: 'time_entries' },
  comments: { key: ['comment_id'], idTable: 'comments' },
  teams: { key: ['team_id'], idTable: 'teams' },
  team_assignments: { key: ['account_id', 'resource_type', 'record_id', 'team_id'] },
  occurrences: { key: ['account_id', 'position'] },
  audit: { key: ['audit_id'], idTable: 'audit' },
  // Leases are not exported, because no node of the new service has the lease yet.
  hooks: { key: ['hook_id'], idTable: 'hooks', excludedColumns: ['lease_owner', 'unacknowledged'] },
  targets: { key: ['target_hash'] },
  finalized_deliveries: { key: ['delivery_id'], idTable: 'pending_deliveries' },
  attempts: { key: ['attempt_id'], idTable: 'attempts' },
  pending_deliveries: { key: ['delivery_id'], idTable: 'pending_deliveries' },
  manual_attempts: { key: ['manual_attempt_id'], idTable: 'manual_attempts' },
  api_keys: { key: ['key_id'], idTable: 'api_keys' },
  calendars: { key: ['calendar_id'], idTable: 'calendars' },
  passphrases: { key: ['user_id'] },
  idempotency: { key: ['key_id', 'idempotency_key'] },
};

/** The exported tables, in the order of the export. */
export const exportedTables = Object.keys(exportRules) as readonly ExportedTable[];

export function isExportedTable(name: string): name is ExportedTable {
  return Object.hasOwn(exportRules, name);
}

/** A row as it is exported: values by column name. */
export type ExportedRow = Readonly<Record<string, string | number | null>>;

const exportedCellsByTable = new Map(
  exportedTables.map((table) => {
    const excludedColumns: readonly string[] = exportRules[table].excludedColumns ?? [];
    const cells = Object.entries<Column>(tableColumns[table]).map(([name, { cell }]): [string, CellType] => [
      name,
      cell,
    ]);
    return [table, cells.filter(([name]) => !excludedColumns.includes(name))];
  }),
);

/** Returns the exported columns of a table, in the order in which a line contains them. */
export function exportedColumnsOf(table: ExportedTable): readonly string[] {
  return (exportedCellsByTable.get(table) ?? []).map(([column]) => column);
}

/** Validates a row. Returns the error as text that follows the name of the table; undefined if the row is valid. */
export function findRowError(table: ExportedTable, row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return ' must be an object';
  const cells = exportedCellsByTable.get(table) ?? [];
  const values: [string, unknown][] = Object.entries(row);
  for (const [index, [column, cell]] of cells.entries()) {
    const [name, value] = values[index] ?? [];
    if (name !== column) return Object.hasOwn(row, column) ? `.${column} is out of order` : `.${column} is missing`;
    if (!isValidCell(cell, value)) return `.${column} must be a ${cell}`;
  }
  const [extraColumn] = values[cells.length] ?? [];
  return extraColumn === undefined ? undefined : `.${extraColumn} is unknown`;
}

function isValidCell(cell: CellType, value: unknown): boolean {
  switch (cell) {
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

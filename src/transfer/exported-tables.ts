import { type AccountTable, type Cell, type Column, columns, type Tables } from '../store/tables.ts';

/**
 * The tables of an account that are moved. What lets a browser in stays behind: who is signed in at one service is not
 * at another, and a link leads to the service that made it. So does what was fetched: it is a help for the eye, of 30
 * days, and the first fetch at the other service is noted there. And so do mails: their links lead to the service that saw
 * the hook fail, and the hook itself is moved, with its reason.
 */
export type MovedTable = Exclude<AccountTable, LeftTable>;

export const leftBehind = [
  'sessions',
  'invitations',
  'read_receipts',
  'hook_alerts',
  'mails',
] as const satisfies readonly AccountTable[];

type LeftTable = (typeof leftBehind)[number];

/** One table as it is moved: every column of it, in the order in which it has them. */
type Content<Name extends string> = {
  /** What its rows are ordered by, which is unique. */
  readonly key: readonly Name[];
  /** The table that issues its ids, mostly itself. */
  readonly idsOf?: MovedTable;
  readonly leftOut?: readonly Name[];
};

/**
 * Everything that makes up an account, in an order in which every row comes after those that it refers to. What tells and
 * what lets in comes last. The compiler asks for every table.
 */
export const contents: { readonly [T in MovedTable]: Content<keyof Tables[T] & string> } = {
  accounts: { key: ['account_id'], idsOf: 'accounts' },
  positions: { key: ['account_id'] },
  users: { key: ['user_id'], idsOf: 'users' },
  clients: { key: ['client_id'], idsOf: 'clients' },
  contacts: { key: ['contact_id'], idsOf: 'contacts' },
  projects: { key: ['project_id'], idsOf: 'projects' },
  tasks: { key: ['task_id'], idsOf: 'tasks' },
  subtasks: { key: ['subtask_id'], idsOf: 'subtasks' },
  events: { key: ['event_id'], idsOf: 'events' },
  imported_events: { key: ['account_id', 'entry_hash'] },
  assignments: { key: ['account_id', 'resource_type', 'record_id', 'user_id'] },
  time_entries: { key: ['entry_id'], idsOf: 'time_entries' },
  comments: { key: ['comment_id'], idsOf: 'comments' },
  teams: { key: ['team_id'], idsOf: 'teams' },
  team_assignments: { key: ['account_id', 'resource_type', 'record_id', 'team_id'] },
  occurrences: { key: ['account_id', 'position'] },
  audit: { key: ['audit_id'], idsOf: 'audit' },
  // The lane belongs to nobody yet where it arrives.
  hooks: { key: ['hook_id'], idsOf: 'hooks', leftOut: ['lease_owner', 'unacknowledged'] },
  targets: { key: ['target_hash'] },
  finalized_deliveries: { key: ['delivery_id'], idsOf: 'pending_deliveries' },
  attempts: { key: ['attempt_id'], idsOf: 'attempts' },
  pending_deliveries: { key: ['delivery_id'], idsOf: 'pending_deliveries' },
  manual_attempts: { key: ['manual_attempt_id'], idsOf: 'manual_attempts' },
  api_keys: { key: ['key_id'], idsOf: 'api_keys' },
  calendars: { key: ['calendar_id'], idsOf: 'calendars' },
  passphrases: { key: ['user_id'] },
  idempotency: { key: ['key_id', 'idempotency_key'] },
};

/** The tables that are moved, in the order in which they are. */
export const tables = Object.keys(contents) as readonly MovedTable[];

export function isTable(name: string): name is MovedTable {
  return Object.hasOwn(contents, name);
}

/** A row as it is moved. */
export type Row = Readonly<Record<string, string | number | null>>;

const moved = new Map(
  tables.map((table) => {
    const leftOut: readonly string[] = contents[table].leftOut ?? [];
    const cells = Object.entries<Column>(columns[table]).map(([name, { cell }]): [string, Cell] => [name, cell]);
    return [table, cells.filter(([name]) => !leftOut.includes(name))];
  }),
);

/** The columns of a table that are moved, in the order in which a line has them. */
export function columnsOf(table: MovedTable): readonly string[] {
  return (moved.get(table) ?? []).map(([column]) => column);
}

/** What is wrong with a row, in words that follow the table's name, or undefined. */
export function faultOf(table: MovedTable, row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return ' must be an object';
  const cells = moved.get(table) ?? [];
  const values: [string, unknown][] = Object.entries(row);
  for (const [index, [column, cell]] of cells.entries()) {
    const [name, value] = values[index] ?? [];
    if (name !== column) return Object.hasOwn(row, column) ? `.${column} is out of order` : `.${column} is missing`;
    if (!isCell(cell, value)) return `.${column} must be a ${cell}`;
  }
  const [stranger] = values[cells.length] ?? [];
  return stranger === undefined ? undefined : `.${stranger} is unknown`;
}

function isCell(cell: Cell, value: unknown): boolean {
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

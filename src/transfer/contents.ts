import type { Selectable } from 'kysely';
import type { AccountTable, Tables } from '../store/tables.ts';

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
  'fetches',
  'notices',
  'mails',
] as const satisfies readonly AccountTable[];

type LeftTable = (typeof leftBehind)[number];

/** What may stand in a column. */
export type Cell = 'number' | 'number or null' | 'text' | 'text or null';

type CellOf<V> = null extends V
  ? NonNullable<V> extends number
    ? 'number or null'
    : 'text or null'
  : V extends number
    ? 'number'
    : 'text';

type Columns<Row> = { readonly [C in keyof Row]: CellOf<Row[C]> | 'left out' };

/** One table as it is moved. */
type Content<Row> = {
  /** What its rows are ordered by, which is unique. */
  readonly key: readonly (keyof Row & string)[];
  /** The table that issues its ids, mostly itself. */
  readonly idsOf?: MovedTable;
  /** What stands in its columns, in the order in which a line has them. */
  readonly columns: Columns<Row>;
};

const number = 'number';
const text = 'text';
const numberOrNull = 'number or null';
const textOrNull = 'text or null';

const stamps = { date_created: number, date_modified: numberOrNull, user_id: number } as const;
const span = { start_date: textOrNull, due_date: textOrNull } as const;
const delivery = {
  delivery_id: number,
  account_id: number,
  user_id: number,
  hook_id: number,
  position: numberOrNull,
  kind: text,
  record_id: number,
  owed_at: number,
} as const;

/**
 * Everything that makes up an account, said once: each table, in an order in which every row comes after those that it
 * refers to. What tells and what lets in comes last. The compiler asks for every table and column of `Tables`.
 */
export const contents: { readonly [T in MovedTable]: Content<Selectable<Tables[T]>> } = {
  accounts: {
    key: ['account_id'],
    idsOf: 'accounts',
    columns: {
      account_id: number,
      domain: text,
      company_name: text,
      address1: text,
      address2: text,
      city: text,
      state: text,
      postcode: text,
      country: text,
      currency: text,
      phone: text,
      time_zone: text,
      date_created: number,
    },
  },
  positions: {
    key: ['account_id'],
    columns: { account_id: number, position: number, occurred_at: number, epoch_start: number },
  },
  users: {
    key: ['user_id'],
    idsOf: 'users',
    columns: {
      user_id: number,
      account_id: number,
      email: text,
      first_name: text,
      last_name: text,
      role: text,
      date_created: number,
      date_modified: numberOrNull,
      date_deleted: numberOrNull,
    },
  },
  clients: {
    key: ['client_id'],
    idsOf: 'clients',
    columns: {
      client_id: number,
      account_id: number,
      client_name: text,
      email: text,
      tel: text,
      fax: text,
      mobile: text,
      website: text,
      address: text,
      city: text,
      state: text,
      postcode: text,
      country: text,
      notes: text,
      background: text,
      active: number,
      ...stamps,
    },
  },
  projects: {
    key: ['project_id'],
    idsOf: 'projects',
    columns: {
      project_id: number,
      account_id: number,
      project_name: text,
      uri: text,
      description: text,
      color: text,
      tags: text,
      notes: text,
      ...span,
      ongoing: number,
      client_id: number,
      currency: text,
      hourly_rate: text,
      fixed_price: number,
      price: text,
      public: number,
      active: number,
      important: number,
      closed: number,
      archived: number,
      progress: number,
      ...stamps,
    },
  },
  tasks: {
    key: ['task_id'],
    idsOf: 'tasks',
    columns: {
      task_id: number,
      account_id: number,
      task_name: text,
      description: text,
      color: text,
      tags: text,
      notes: text,
      ...span,
      date_completed: numberOrNull,
      ongoing: number,
      project_id: number,
      estimated_hours: text,
      estimated_cost: text,
      hourly_rate: text,
      fixed_price: number,
      price: text,
      task_order: number,
      active: number,
      important: number,
      completed: number,
      progress: number,
      recurring: number,
      archived: number,
      ...stamps,
    },
  },
  subtasks: {
    key: ['subtask_id'],
    idsOf: 'subtasks',
    columns: {
      subtask_id: number,
      account_id: number,
      subtask_name: text,
      description: text,
      color: text,
      notes: text,
      ...span,
      date_completed: numberOrNull,
      ongoing: number,
      task_id: number,
      estimated_hours: text,
      subtask_order: number,
      active: number,
      important: number,
      completed: number,
      progress: number,
      recurring: number,
      ...stamps,
    },
  },
  events: {
    key: ['event_id'],
    idsOf: 'events',
    columns: {
      event_id: number,
      account_id: number,
      event_name: text,
      start_date: text,
      due_date: text,
      project_id: number,
      ...stamps,
    },
  },
  imported_events: {
    key: ['account_id', 'entry_hash'],
    columns: { account_id: number, entry_hash: text, event_id: number, content_hash: text },
  },
  assignments: {
    key: ['account_id', 'noun', 'record_id', 'user_id'],
    columns: { account_id: number, noun: text, record_id: number, user_id: number },
  },
  occurrences: {
    key: ['account_id', 'position'],
    columns: {
      account_id: number,
      position: number,
      kind: text,
      user_id: number,
      record_id: number,
      occurred_at: number,
    },
  },
  audit: {
    key: ['audit_id'],
    idsOf: 'audit',
    columns: {
      audit_id: number,
      account_id: number,
      user_id: number,
      key_id: number,
      action: text,
      subject: text,
      detail: text,
      source: text,
      happened_at: number,
    },
  },
  hooks: {
    key: ['hook_id'],
    idsOf: 'hooks',
    columns: {
      hook_id: number,
      account_id: number,
      user_id: number,
      kind: text,
      target: text,
      date_created: number,
      failures: number,
      due_at: numberOrNull,
      retry_delivery_id: numberOrNull,
      last_outcome: text,
      generation: number,
      // The lane belongs to nobody yet where it arrives.
      lease_owner: 'left out',
      date_ended: numberOrNull,
      ended_reason: text,
      ended_position: numberOrNull,
      secrets: textOrNull,
      unheard: 'left out',
    },
  },
  targets: {
    key: ['target_hash'],
    columns: { target_hash: text, account_id: number, hook_id: number },
  },
  settled: { key: ['delivery_id'], idsOf: 'owed', columns: { ...delivery, settled_at: number, state: text } },
  attempts: {
    key: ['attempt_id'],
    idsOf: 'attempts',
    columns: {
      attempt_id: number,
      account_id: number,
      hook_id: number,
      delivery_id: number,
      attempted_at: number,
      outcome: text,
      milliseconds: number,
      counted: number,
      reason: text,
    },
  },
  owed: { key: ['delivery_id'], idsOf: 'owed', columns: delivery },
  asks: {
    key: ['ask_id'],
    idsOf: 'asks',
    columns: { ask_id: number, account_id: number, hook_id: number, delivery_id: number },
  },
  api_keys: {
    key: ['key_id'],
    idsOf: 'api_keys',
    columns: {
      key_id: number,
      account_id: number,
      user_id: number,
      key_hash: text,
      label: text,
      permissions: text,
      date_created: number,
      last_used: numberOrNull,
      expires_at: numberOrNull,
      revoked_at: numberOrNull,
    },
  },
  calendars: {
    key: ['calendar_id'],
    idsOf: 'calendars',
    columns: {
      calendar_id: number,
      account_id: number,
      user_id: number,
      token_hash: text,
      label: text,
      scope: text,
      project_id: number,
      time_zone: text,
      permissions: text,
      date_created: number,
      last_fetched: numberOrNull,
      expires_at: numberOrNull,
    },
  },
  passphrases: {
    key: ['user_id'],
    columns: { user_id: number, account_id: number, passphrase_hash: text, date_modified: number },
  },
  idempotency: {
    key: ['key_id', 'idempotency_key'],
    columns: {
      key_id: number,
      idempotency_key: text,
      account_id: number,
      fingerprint: text,
      status: number,
      location: text,
      body: text,
      answered_at: number,
    },
  },
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
    const columns = Object.entries<Cell | 'left out'>(contents[table].columns);
    return [table, columns.filter((column): column is [string, Cell] => column[1] !== 'left out')];
  }),
);

/** The columns of a table that are moved, in the order in which a line has them. */
export function columnsOf(table: MovedTable): readonly string[] {
  return (moved.get(table) ?? []).map(([column]) => column);
}

/** What is wrong with a row, in words that follow the table's name, or undefined. */
export function faultOf(table: MovedTable, row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return ' must be an object';
  const columns = moved.get(table) ?? [];
  const values: [string, unknown][] = Object.entries(row);
  for (const [index, [column, cell]] of columns.entries()) {
    const [name, value] = values[index] ?? [];
    if (name !== column) return Object.hasOwn(row, column) ? `.${column} is out of order` : `.${column} is missing`;
    if (!isCell(cell, value)) return `.${column} must be a ${cell}`;
  }
  const [stranger] = values[columns.length] ?? [];
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

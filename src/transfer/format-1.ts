import type { MovedTable } from './exported-tables.ts';
import type { Header, Tallies } from './format.ts';

// Format 1 uses the names of tables and columns from before migration 0014. Everything else is as in format 2.

/** Only format 1 exports with this schema can be imported: the last one before the names changed. */
const SCHEMA = 13;

const tables: Readonly<Record<string, MovedTable>> = {
  owed: 'pending_deliveries',
  settled: 'finalized_deliveries',
  asks: 'manual_attempts',
};

const columns: Readonly<Partial<Record<MovedTable, Readonly<Record<string, string>>>>> = {
  pending_deliveries: { owed_at: 'created_at' },
  finalized_deliveries: { owed_at: 'created_at', settled_at: 'finalized_at' },
  manual_attempts: { ask_id: 'manual_attempt_id' },
  assignments: { noun: 'resource_type' },
  team_assignments: { noun: 'resource_type' },
  hooks: { unheard: 'unacknowledged' },
};

export const isFormat1 = ({ carillon, schema }: Header): boolean => carillon === 1 && schema === SCHEMA;

/** The current name of a table of format 1. */
export const tableNamed = (name: string): string => tables[name] ?? name;

/** Converts a header to the current names. */
export function convertHeader(header: Header): Header {
  const issued = Object.fromEntries(Object.entries(header.issued).map(([name, id]) => [tableNamed(name), id]));
  return { ...header, issued };
}

/** Converts a row, as JSON, to the current names. */
export function convertRow(table: MovedTable, json: string): string {
  const renamed = columns[table];
  if (renamed === undefined) return json;
  const row = Object.entries(JSON.parse(json)).map(([name, value]) => [renamed[name] ?? name, value]);
  return JSON.stringify(Object.fromEntries(row));
}

/** The totals under the table names of format 1, as in the end of such a file. */
export function tallyNames(tallies: Tallies): Readonly<Record<string, unknown>> {
  const oldNames = new Map(Object.entries(tables).map(([old, name]) => [String(name), old]));
  return Object.fromEntries(Object.entries(tallies).map(([name, tally]) => [oldNames.get(name) ?? name, tally]));
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../laws/source.ts';

const FILE = 'bench/peers/measured-2026-11-24.json';

/** Measured values by system: one number, or several such as p50 and p99, or before and after. */
type ValuesBySystem = Readonly<Record<string, number | readonly number[]>>;

/** Measurements of Carillon and of alternatives to it, taken one after the other on one machine. */
export type PeerMeasurements = {
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  readonly measurements: Readonly<Record<string, { readonly description: string; readonly values: ValuesBySystem }>>;
};

/** Systems in the order of the table's columns, with their display names. */
export const systems = {
  carillon_sqlite: 'Carillon, SQLite',
  carillon_postgresql: 'Carillon, PostgreSQL',
  pocketbase: 'PocketBase',
  svix: 'Svix',
  outpost: 'Outpost',
  vikunja: 'Vikunja',
} as const;

export type System = keyof typeof systems;

export const systemIds = Object.keys(systems) as System[];

export function readPeerMeasurements(): PeerMeasurements {
  return JSON.parse(readFileSync(join(root, FILE), 'utf8'));
}

/** Returns the values of one system in a measurement; undefined if the system was not measured. */
export function valuesOf(peers: PeerMeasurements, measurement: string, system: string): readonly number[] | undefined {
  const found = peers.measurements[measurement];
  if (found === undefined) throw new Error(`${FILE} has no measurement ${measurement}`);
  const value = found.values[system];
  return typeof value === 'number' ? [value] : value;
}

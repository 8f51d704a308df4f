import { execFile } from 'node:child_process';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type OccurrenceKind, resourceTypeOf } from '../../../src/delivery/outbox/event-kinds.ts';
import type { PostgresServer } from '../../kit/database/postgres.ts';
import { type ClientCall, type DatabaseContent, isDeletionKind } from '../checker/history.ts';
import { type Observers, withSnapshot } from '../workload/observers.ts';

/**
 * Makes a base backup of a running PostgreSQL server through its low-level API (manual, "Making a Base Backup
 * Using the Low Level API"). The backup is a copy of the files while the server writes to them, and the WAL that
 * makes the copy consistent.
 */
export async function makeBaseBackup({ url, folder }: PostgresServer, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("select pg_backup_start('carillon', true)");
    await copyFiles(folder, to);
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await client.query('select pg_switch_wal()');
    // This WAL was written during the copy, up to the end of the backup.
    await copyFiles(join(folder, 'pg_wal'), to);
    const label = join(to, 'backup_label');
    writeFileSync(label, String(rows[0]?.labelfile));
    const { uid, gid } = statSync(folder);
    chownSync(label, uid, gid);
    for (const own of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, own), { force: true });
  } finally {
    await client.end();
  }
}

/** Copies files with their owners and permissions. A file that vanishes during the copy is restored from the WAL. */
function copyFiles(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('cp', ['-a', from, to], (error, _output, said) => {
      const isVanished = said.split('\n').every((line) => line === '' || line.includes('No such file'));
      if (error === null || isVanished) resolve();
      else reject(error);
    });
  });
}

/** A backup, and the time span in which it was made. */
export type Backup = { readonly backup: string; readonly beganAt: number; readonly endedAt: number };

/** Returns the differences between a restored database and the history: missing and unexpected content. */
export async function findRestoreDifferences(
  address: string,
  database: DatabaseContent,
  { calls, arrivals }: Pick<Observers, 'calls' | 'arrivals'>,
  backup: Backup,
): Promise<string[]> {
  const unaccounted = await withSnapshot(address, (query) => query(NEITHER_PENDING_NOR_FINALIZED));
  const finalized = await withSnapshot(address, (query) =>
    query("select delivery_id from finalized_deliveries where state = 'delivered'"),
  );
  const delivered = new Set(arrivals.filter(({ answer }) => answer === 200).map(({ deliveryId }) => deliveryId));
  return [
    ...findInconsistencies(database),
    ...findMissingOrUnexpected(database, calls, backup),
    ...unaccounted.map(
      (row) => `C20 an occurrence that is neither pending nor finalized: hook ${row.hook_id}, ${row.position}`,
    ),
    ...finalized
      .filter(({ delivery_id }) => !delivered.has(String(delivery_id)))
      .map(({ delivery_id }) => `C20 stored as delivered, and not received: ${delivery_id}`),
  ];
}

/** Returns the ids of the pending deliveries in a database. */
export async function pendingDeliveryIds(address: string): Promise<readonly string[]> {
  const rows = await withSnapshot(address, (query) => query('select delivery_id from pending_deliveries'));
  return rows.map((row) => String(row.delivery_id));
}

/**
 * Selects occurrences without a pending or finalized delivery to their hooks. A record and its pending deliveries
 * are written in one transaction, so a backup has both or neither (C16).
 */
const NEITHER_PENDING_NOR_FINALIZED = `
  select hooks.hook_id, occurrences.position from occurrences
  join hooks on hooks.user_id = occurrences.user_id and hooks.events = occurrences.kind
  where not exists (select 1 from pending_deliveries where pending_deliveries.hook_id = hooks.hook_id and pending_deliveries.position = occurrences.position)
    and not exists (select 1 from finalized_deliveries
      where finalized_deliveries.hook_id = hooks.hook_id and finalized_deliveries.position = occurrences.position)`;

/** Finds occurrences without their record, and records without their occurrence. */
export function findInconsistencies({
  records,
  occurrences,
}: Pick<DatabaseContent, 'records' | 'occurrences'>): string[] {
  const deleted = new Set(occurrences.filter(({ kind }) => isDeletionKind(kind)).map(({ record }) => record));
  const created = new Set(occurrences.filter(({ kind }) => kind.startsWith('new_')).map(({ record }) => record));
  const checkedOccurrences = occurrences.filter(({ kind }) =>
    ['event', 'client'].includes(resourceTypeOf(kind as OccurrenceKind)),
  );
  return [
    ...checkedOccurrences
      .filter(({ record }) => !records.has(record) && !deleted.has(record))
      .map(({ kind, record }) => `C16 an occurrence without its record: ${kind} ${record}`),
    ...[...records.keys()]
      .filter((record) => !created.has(record))
      .map((record) => `C16 a record without its occurrence: ${record}`),
    ...[...deleted].filter((record) => records.has(record)).map((record) => `C16 a record with a deletion: ${record}`),
  ];
}

/**
 * Finds records that were acknowledged before the backup began and are missing in it, and records that were
 * requested only after it ended and are present in it.
 */
export function findMissingOrUnexpected(
  { records }: Pick<DatabaseContent, 'records'>,
  calls: readonly ClientCall[],
  { beganAt, endedAt }: Pick<Backup, 'beganAt' | 'endedAt'>,
): string[] {
  const before = calls.filter(({ answeredAt = Number.POSITIVE_INFINITY }) => answeredAt < beganAt);
  const everDeleted = new Set(calls.flatMap((call) => (call.did === 'delete' ? [call.record] : [])));
  const createdRecords = before.flatMap((call) =>
    call.did === 'occur' && call.record !== undefined ? [call.record] : [],
  );
  const deleted = before.flatMap((call) => (call.did === 'delete' ? [call.record] : []));
  const requestedWords = calls.flatMap((call) => (call.did === 'occur' && call.askedAt <= endedAt ? [call.word] : []));
  const words = new Set(requestedWords);
  return [
    ...createdRecords
      .filter((record) => !records.has(record) && !everDeleted.has(record))
      .map((record) => `C20 acknowledged before the backup and not in it: ${record}`),
    ...deleted
      .filter((record) => records.has(record))
      .map((record) => `C20 its deletion was acknowledged before the backup, but the backup contains it: ${record}`),
    ...[...records]
      .filter(([, word]) => !words.has(word))
      .map(([record]) => `C16 not requested before the end of the backup: ${record}`),
  ];
}

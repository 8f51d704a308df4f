import { execFile } from 'node:child_process';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { PostgresServer } from '../../../kit/database/postgres.ts';

/**
 * Base backup of a running PostgreSQL with its low-level API (manual, "Making a Base Backup Using the Low
 * Level API"): a copy of the files while the server writes to them, and the WAL that makes the copy
 * consistent.
 */
export async function copyWhileRunning({ address, folder }: PostgresServer, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    await client.query("select pg_backup_start('carillon', true)");
    await copyFiles(folder, to);
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await client.query('select pg_switch_wal()');
    // WAL written during the copy, up to the end of the backup.
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

/** Preserves owners and permissions. A file that vanishes during the copy is restored from the WAL. */
function copyFiles(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('cp', ['-a', from, to], (error, _output, said) => {
      const isVanished = said.split('\n').every((line) => line === '' || line.includes('No such file'));
      if (error === null || isVanished) resolve();
      else reject(error);
    });
  });
}

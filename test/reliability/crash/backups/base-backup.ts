import { execFile } from 'node:child_process';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { PostgresServer } from '../../../kit/postgres.ts';

/**
 * A base backup of a PostgreSQL, by its own functions (the manual, "Making a Base Backup Using the Low Level API"): its files
 * as they are copied while it writes to them, and the log that brings them to one moment.
 */
export async function copyWhileRunning({ address, folder }: PostgresServer, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    await client.query("select pg_backup_start('carillon', true)");
    await copyFiles(folder, to);
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await client.query('select pg_switch_wal()');
    // What was written meanwhile, up to the end of the backup.
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

/** With owners and rights. A file that is gone before it is its turn is no loss: the log has what it held. */
function copyFiles(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('cp', ['-a', from, to], (error, _output, said) => {
      const isVanished = said.split('\n').every((line) => line === '' || line.includes('No such file'));
      if (error === null || isVanished) resolve();
      else reject(error);
    });
  });
}

import { fileURLToPath } from 'node:url';
import { startPostgres } from './postgres.ts';
import { dropTemplate, makeTemplate } from './postgres-databases.ts';

/** Before all tests: one PostgreSQL for all of them, unless TEST_DATABASE_URL names another. */
let stop = dropTemplate;

/** What Node has compiled of the source, for the hundreds of processes of one run; half of what each takes to begin. */
const compiled = fileURLToPath(new URL('../node_modules/.compiled', import.meta.url));

export async function globalSetup(): Promise<void> {
  process.env.NODE_COMPILE_CACHE ??= compiled;
  if (process.env.TEST_STORES === 'SQLite') return;
  if (!process.env.TEST_DATABASE_URL) {
    const server = await startPostgres();
    process.env.TEST_DATABASE_URL = server.address;
    stop = server.stop;
  }
  await makeTemplate();
}

export async function globalTeardown(): Promise<void> {
  await __count();
  await stop();
}
export async function __count() {
  const pg = (await import('pg')).default;
  const { execSync } = await import('node:child_process');
  const c = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await c.connect();
  const { rows } = await c.query(
    'select sum(sessions) s, (select count(*) from pg_database) d, (select pg_postmaster_start_time()) from pg_stat_database',
  );
  console.error('SESSIONS', JSON.stringify(rows));
  const {
    rows: [r],
  } = await c.query('select pg_backend_pid() as pid');
  const pp = execSync(`ps -o ppid= -p ${r.pid}`).toString().trim();
  console.error(
    'PGCPU',
    execSync(`awk '{print "own",($14+$15)/100,"children",($16+$17)/100}' /proc/${pp}/stat`).toString(),
  );
  await c.end();
}

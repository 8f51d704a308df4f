import { fileURLToPath } from 'node:url';
import { loadInOneFile } from './in-one-file.ts';
import { startPostgres } from './postgres.ts';
import { dropTemplate, makeTemplate } from './postgres-databases.ts';

/** Starts one PostgreSQL for all tests, unless TEST_DATABASE_URL names one. */
let stop = dropTemplate;

/** The compile cache, shared by hundreds of processes of a run. It halves their start-up time. */
const compiled = new URL('../node_modules/.compiled/', import.meta.url);

export async function globalSetup(): Promise<void> {
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(compiled);
  await loadInOneFile(compiled);
  if (process.env.TEST_STORES === 'SQLite') return;
  if (!process.env.TEST_DATABASE_URL) {
    const server = await startPostgres();
    process.env.TEST_DATABASE_URL = server.address;
    stop = server.stop;
  }
  await makeTemplate();
}

export async function globalTeardown(): Promise<void> {
  await stop();
}

import { makeTemplate, startPostgres } from './postgres.ts';

/** Before all tests: one PostgreSQL for all of them, unless TEST_DATABASE_URL names another. */
let stop: () => Promise<void> = async () => undefined;

export async function globalSetup(): Promise<void> {
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

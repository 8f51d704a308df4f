import { join } from 'node:path';
import { before, test as nodeTest } from 'node:test';
import type { Cleanup } from '../cleanup.ts';
import { newPostgresDatabase, newServiceDatabase } from '../database/postgres-databases.ts';
import { type Setup, startTestService, type TestService, temporaryFolder } from './service.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** A database under test. Suites loop over all databases, because every promise holds on each of them. */
export type TestStore = {
  readonly name: 'SQLite' | 'PostgreSQL';
  readonly test: typeof nodeTest;
  /** Creates a database and returns the value for `--database`. */
  database(context: Cleanup): Promise<string>;
  /** Starts a service in this process, on a new database unless `setup` names one. */
  testService(context: Cleanup, setup?: Setup): Promise<TestService>;
  /** Starts a service in a child process. */
  serviceProcess(context: Cleanup, options?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
};

type Database = TestStore['database'];

/**
 * Creates the tools to test on a database.
 *
 * @param serviceDatabase creates the database of a service, which may already have the schema
 */
function testStore(
  name: TestStore['name'],
  test: typeof nodeTest,
  database: Database,
  serviceDatabase = database,
): TestStore {
  return {
    name,
    test,
    database,
    testService: async (context, setup = {}) =>
      startTestService(context, setup.database ?? (await serviceDatabase(context)), setup),
    serviceProcess: async (context, options = {}) =>
      startServiceProcess(context, options.CARILLON_DATABASE ?? (await serviceDatabase(context)), options),
  };
}

/** SQLite, for tests of behavior that does not depend on the database. */
export const sqlite = testStore(
  'SQLite',
  nodeTest,
  async (context) => `sqlite:${join(temporaryFolder(context), 'carillon.db')}`,
);

const onPostgres = (name: string, ...rest: unknown[]) =>
  Reflect.apply(nodeTest, undefined, [`${name} (PostgreSQL)`, ...rest]);

const postgres = testStore('PostgreSQL', onPostgres as typeof nodeTest, newPostgresDatabase, newServiceDatabase);

/** All databases, or those that TEST_STORES names, for code outside of test files. */
export const chosen: readonly TestStore[] = [sqlite, postgres].filter(({ name }) =>
  (process.env.TEST_STORES ?? name).split(',').includes(name),
);

/**
 * The databases that every suite runs on: all, or those that TEST_STORES names. Tests start only after the file has
 * looped over all databases. Otherwise the runner could end the file when the tests on the first database are done,
 * while the service on the next database is still starting.
 */
export const stores: Iterable<TestStore> = {
  *[Symbol.iterator]() {
    const allDefined = Promise.withResolvers<void>();
    before(() => allDefined.promise);
    try {
      yield* chosen;
    } finally {
      allDefined.resolve();
    }
  },
};

/** The databases that several nodes can share. */
export const shared: readonly TestStore[] = chosen.filter(({ name }) => name === 'PostgreSQL');

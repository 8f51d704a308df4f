import { join } from 'node:path';
import { before, test as nodeTest } from 'node:test';
import type { Cleanup } from '../cleanup.ts';
import { createMigratedSqlite } from '../database/database.ts';
import { newPostgresDatabase, newServiceDatabase } from '../database/postgres-databases.ts';
import { createTemporaryFolder, type ServiceSetup, startTestService, type TestService } from './service.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** A database under test. Suites loop over all databases, because every promise holds on each of them. */
export type TestStore = {
  readonly name: 'SQLite' | 'PostgreSQL';
  readonly test: typeof nodeTest;
  /** Creates a database and returns the value for `--database`. */
  database(context: Cleanup): Promise<string>;
  /** Starts a service in this process, on a new database unless `setup` names one. */
  testService(context: Cleanup, setup?: ServiceSetup): Promise<TestService>;
  /** Starts a service in a child process. */
  serviceProcess(context: Cleanup, options?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
};

/** Creates a database and returns the value for `--database`. */
type CreateDatabase = TestStore['database'];

/**
 * Creates the tools to test on a database.
 *
 * @param createServiceDatabase creates the database of a service, which may already have the schema
 */
function createTestStore(
  name: TestStore['name'],
  test: typeof nodeTest,
  database: CreateDatabase,
  createServiceDatabase = database,
): TestStore {
  return {
    name,
    test,
    database,
    testService: async (context, setup = {}) =>
      startTestService(context, setup.database ?? (await createServiceDatabase(context)), setup),
    serviceProcess: async (context, options = {}) =>
      startServiceProcess(context, options.CARILLON_DATABASE ?? (await createServiceDatabase(context)), options),
  };
}

/** SQLite, for tests of behavior that does not depend on the database. */
export const sqlite = createTestStore(
  'SQLite',
  nodeTest,
  async (context) => `sqlite:${join(createTemporaryFolder(context), 'carillon.db')}`,
  async (context) => {
    const path = join(createTemporaryFolder(context), 'carillon.db');
    await createMigratedSqlite(path);
    return `sqlite:${path}`;
  },
);

const postgresTest = (name: string, ...rest: unknown[]) =>
  Reflect.apply(nodeTest, undefined, [`${name} (PostgreSQL)`, ...rest]);

const postgres = createTestStore(
  'PostgreSQL',
  postgresTest as typeof nodeTest,
  newPostgresDatabase,
  newServiceDatabase,
);

const namedStores = (names: string): readonly TestStore[] =>
  names.split(',').map((chosen) => {
    const store = [sqlite, postgres].find(({ name }) => name === chosen);
    if (store === undefined) throw new Error(`TEST_STORES names ${chosen}, which is neither SQLite nor PostgreSQL`);
    return store;
  });

/**
 * Yields the databases of a suite. Its tests start only after the file has looped over all of them. Otherwise the
 * runner could end the file when the tests on the first database are done, while the service on the next one is still
 * starting.
 */
const suiteStores = (chosen: readonly TestStore[]): Iterable<TestStore> => ({
  *[Symbol.iterator]() {
    const allDefined = Promise.withResolvers<void>();
    before(() => allDefined.promise);
    try {
      yield* chosen;
    } finally {
      allDefined.resolve();
    }
  },
});

/** Both databases, or those that TEST_STORES names. */
export const chosenStores = namedStores(process.env.TEST_STORES ?? 'SQLite,PostgreSQL');

/** The databases of tests that do not depend on the database: SQLite, or those that TEST_STORES names. */
export const defaultStores = namedStores(process.env.TEST_STORES ?? 'SQLite');

/** `defaultStores`, for the loop of a suite. `npm run test:all` runs each suite on both databases. */
export const stores = suiteStores(defaultStores);

/** `chosenStores`, for the loop of a suite that tests the store or deliveries. */
export const everyStore = suiteStores(chosenStores);

/** The databases that several nodes can share. */
export const sharedStores = chosenStores.filter(({ name }) => name === 'PostgreSQL');

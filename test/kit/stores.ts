import { join } from 'node:path';
import { before, test as nodeTest } from 'node:test';
import type { Cleanup } from './cleanup.ts';
import { newPostgresDatabase, newServiceDatabase } from './postgres-databases.ts';
import { type ServiceProcess, startServiceProcess } from './process.ts';
import { type Setup, startTestService, type TestService, temporaryFolder } from './service.ts';

/** A database under test: a suite is a function of it, and every promise holds on each. */
export type TestStore = {
  readonly name: 'SQLite' | 'PostgreSQL';
  readonly test: typeof nodeTest;
  /** A new database: what `--database` takes. */
  database(context: Cleanup): Promise<string>;
  /** A whole service in this process, on a database of its own unless one is named. */
  testService(context: Cleanup, setup?: Setup): Promise<TestService>;
  /** A whole service in a process of its own. */
  serviceProcess(context: Cleanup, options?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
};

type Database = TestStore['database'];

/** @param served what a service is started on that names none */
function testStore(name: TestStore['name'], test: typeof nodeTest, database: Database, served = database): TestStore {
  return {
    name,
    test,
    database,
    testService: async (context, setup = {}) =>
      startTestService(context, setup.database ?? (await served(context)), setup),
    serviceProcess: async (context, options = {}) =>
      startServiceProcess(context, options.CARILLON_DATABASE ?? (await served(context)), options),
  };
}

/** For what is the same on every database. */
export const sqlite = testStore(
  'SQLite',
  nodeTest,
  async (context) => `sqlite:${join(temporaryFolder(context), 'carillon.db')}`,
);

const onPostgres = (name: string, ...rest: unknown[]) =>
  Reflect.apply(nodeTest, undefined, [`${name} (PostgreSQL)`, ...rest]);

const postgres = testStore('PostgreSQL', onPostgres as typeof nodeTest, newPostgresDatabase, newServiceDatabase);

/** All of them, or those that TEST_STORES names; for what is no file of suites. */
export const chosen: readonly TestStore[] = [sqlite, postgres].filter(({ name }) =>
  (process.env.TEST_STORES ?? name).split(',').includes(name),
);

/**
 * The databases that every suite runs on: all of them, or those that TEST_STORES names, for a quick look. No test of a
 * file begins before the file has gone through all of them: the runner would end the file, and close what it has
 * opened, when the tests on the first are through and the service on the next is still starting.
 */
export const stores: Iterable<TestStore> = {
  *[Symbol.iterator]() {
    const through = Promise.withResolvers<void>();
    before(() => through.promise);
    try {
      yield* chosen;
    } finally {
      through.resolve();
    }
  },
};

/** Those that several nodes may share. */
export const shared: readonly TestStore[] = chosen.filter(({ name }) => name === 'PostgreSQL');

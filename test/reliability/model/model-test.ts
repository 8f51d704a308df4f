import assert from 'node:assert/strict';
import { permissionsOf } from '../../../src/permissions.ts';
import { createTestClock, fixedJitterRandom } from '../../kit/clock.ts';
import { fc } from '../../kit/packages.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { allCommands, createInitialRecords } from './commands.ts';
import { resourceTypes } from './fields.ts';
import { listDeliveries, listHooks, readFeed, recordUrl } from './hooks.ts';
import { expectedList, type ListRequest, orders } from './lists.ts';
import { collectionOf, type ModelAccount, World } from './model.ts';
import { ServiceUnderTest, SimulatedTargets } from './system.ts';

/**
 * Reliability test M1: random calls of several users of two accounts. Each response is compared with an in-memory
 * model of the contract.
 */
export const model: ReliabilityTest = {
  id: 'M1',
  name: 'model',
  title: 'C7 C8 C14 C25 C27 C33 C34 C41 users make random calls; a model of the API predicts the results',
  promise: 'every response and every webhook equals the prediction',
  unit: 'runs of up to 60 calls',
  quick: 12,
  full: 2_000,
  execute,
};

const MAX_RUN_LENGTH = 60;

/** Minimum average number of calls in a run. */
const MIN_RUN_LENGTH = 5;

async function execute({ count, seed, stores, context, log }: RunParameters): Promise<RunResult> {
  const broken: string[] = [];
  let [runs, calls, notifications] = [0, 0, 0];
  for (const store of stores) {
    const runner = await ModelRunner.of(store, context);
    const property = fc.asyncProperty(
      fc.commands(allCommands, {
        maxCommands: MAX_RUN_LENGTH,
        size: 'max',
        ...(process.env.REPLAY === undefined ? {} : { replayPath: process.env.REPLAY }),
      }),
      (commands) => runner.run(commands),
    );
    const path = process.env.RUN === undefined ? {} : { path: process.env.RUN };
    const found = await fc.check(property, { numRuns: count, seed, ...path, endOnFailure: false });
    runs += found.numRuns;
    calls += runner.calls;
    notifications += runner.notifications;
    log(`${store.name}: ${found.numRuns} runs, ${runner.calls} calls`);
    if (found.failed) broken.push(`${store.name}: ${describeFailure(found)}`);
    else if (process.env.RUN === undefined && runner.calls < found.numRuns * MIN_RUN_LENGTH)
      broken.push(`${store.name}: only ${runner.calls} calls`);
  }
  return {
    counts: {
      'runs on all databases': runs,
      calls,
      notifications,
      mismatches: broken.length,
    },
    broken,
  };
}

/** Describes the mismatch, the calls before it, and the command that repeats them. */
function describeFailure({
  counterexample,
  counterexamplePath,
  errorInstance,
  seed,
}: fc.RunDetails<[commands: Iterable<fc.AsyncCommand<World, ServiceUnderTest>>]>): string {
  const shown = String(counterexample?.[0]);
  const [, replay = ''] = /replayPath="([^"]*)"/.exec(shown) ?? [];
  const error = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `${error}\nafter ${shown}\nagain: RUN=${counterexamplePath} REPLAY=${replay} npm run prove -- model --seed ${seed}`;
}

const unfilteredList: ListRequest = { filters: [], order: undefined, limit: undefined, offset: undefined };

/** Permissions of the restricted key. */
const RESTRICTED_PERMISSIONS = [
  'events:read',
  'events:write',
  'projects:read',
  'projects:write',
  'tasks:read',
  'hooks:read',
  'hooks:write',
] as const;

/** Runs commands on one service, on which each world has its own accounts. */
class ModelRunner {
  calls = 0;
  notifications = 0;
  readonly #real: ServiceUnderTest;
  #worlds = 0;

  private constructor(real: ServiceUnderTest) {
    this.#real = real;
  }

  static async of(store: TestStore, context: RunParameters['context']): Promise<ModelRunner> {
    const [clock, targets] = [createTestClock(), new SimulatedTargets()];
    const deps = { clock, random: fixedJitterRandom(), sendAttempt: targets.attempt };
    const carillon = await store.testService(context, { options: { retryWaits: '1m,2h' }, deps });
    return new ModelRunner(new ServiceUnderTest(carillon, clock, targets));
  }

  async run(commands: Iterable<fc.AsyncCommand<World, ServiceUnderTest>>): Promise<void> {
    const real = this.#real;
    const world = await this.#createWorld();
    real.targets.world = world;
    await createInitialRecords(world, real);
    await fc.asyncModelRun(() => ({ model: world, real }), commands);
    await this.#compareAll(world);
    this.calls += [...commands].length;
  }

  async #createWorld(): Promise<World> {
    const { carillon, clock } = this.#real;
    // The clock is simulated. Without this step, the start rate limit for targets of earlier worlds would never
    // renew.
    await clock.advance(1_000);
    this.#worlds += 1;
    const world = new World(`world-${this.#worlds}-`, clock.now());
    for (const side of ['one', 'other']) {
      const owner = await carillon.createAccount(`${side}-${this.#worlds}.test`);
      const account: ModelAccount = { domain: owner.domain, records: new Map(), deleted: [], feed: [], hooks: [] };
      world.accounts.push(account);
      this.#addKey(world, account, owner, permissionsOf('owner'));
      if (side === 'other') continue;
      const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
      this.#addKey(world, account, admin, permissionsOf('admin'));
      this.#addKey(world, account, member, permissionsOf('member'));
      this.#addKey(
        world,
        account,
        await carillon.createKey(member, { permissions: RESTRICTED_PERMISSIONS }),
        RESTRICTED_PERMISSIONS,
      );
    }
    for (const key of world.keys.filter(
      ({ account }, index) => world.keys.findIndex((one) => one.account === account) === index,
    )) {
      const { json } = await this.#real.call(key, 'GET', '/users');
      for (const { user_id, user_name: _, ...shown } of json.data)
        world.addRecord(key.account, 'user', user_id, shown, [], '');
    }
    // Callers are addressed by index; the owner of the other account is last.
    world.keys.sort((a, b) => world.accounts.indexOf(a.account) - world.accounts.indexOf(b.account));
    return world;
  }

  #addKey(world: World, account: ModelAccount, { headers, userId }: ApiUser, permissions: readonly string[]): void {
    world.keys.push({ account, userId, headers, permissions: new Set(permissions) });
  }

  /**
   * Compares the final state: every list, the feed, the hooks, the pending deliveries, and the notifications of
   * each target.
   */
  async #compareAll(world: World): Promise<void> {
    const real = this.#real;
    await real.waitUntilIdle();
    for (const key of world.keys) {
      await listHooks(world, real, key, 0);
      await listDeliveries(world, real, key);
      await readFeed(world, real, key, { scope: 'own', limit: 1_000, kindPick: undefined });
    }
    for (const account of world.accounts) {
      const key = world.keys.find((one) => one.account === account && world.isAdmin(one));
      if (key === undefined) continue;
      await readFeed(world, real, key, { scope: 'account', limit: 1_000, kindPick: undefined });
      for (const resourceType of resourceTypes) {
        for (const order of [undefined, ...Object.keys(orders[resourceType])]) {
          const asked = order === undefined ? '' : `?order=${order}`;
          const { json } = await real.call(key, 'GET', `/${collectionOf(resourceType)}${asked}`);
          const { records } = expectedList(world, account, resourceType, { ...unfilteredList, order });
          const paging = { offset: 0, limit: 1_000, total_records: records.length };
          assert.deepEqual(
            json,
            { paging, data: records.map((record) => world.displayedRecord(account, record)) },
            asked,
          );
        }
      }
    }
    this.notifications += [...real.targets.accepted]
      .filter(([target]) => target.includes(world.urlMark))
      .flatMap(([, all]) => all).length;
    const hooks = world.accounts.flatMap((account) => account.hooks);
    for (const target of new Set(hooks.map((hook) => hook.target))) {
      const expected = hooks.filter((hook) => hook.target === target).flatMap((hook) => hook.delivered);
      const received = real.targets.accepted.get(target) ?? [];
      assert.deepEqual(
        [...received].sort(),
        expected.map((one) => recordUrl(real, one)).sort(),
        `what ${target} was told`,
      );
    }
  }
}

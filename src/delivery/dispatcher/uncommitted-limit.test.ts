import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { atEnd } from '../../../test/kit/cleanup.ts';
import { createTestClock, fixedJitterRandom } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { insertHook } from '../../../test/kit/service/full-accounts.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { Problem } from '../../problems.ts';
import { createAccount } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Store } from '../../store/store.ts';
import { createSingleNodeLeases } from '../cluster/leases.ts';
import { skipHookAlerts } from '../outbox/end-hooks.ts';
import { recordOccurrences } from '../outbox/record-occurrences.ts';
import { requestRedelivery } from '../outbox/restore-hook.ts';
import { Dispatcher } from './dispatcher.ts';

for (const { test, database } of everyStore) {
  /** Starts a dispatcher with a scripted target, on a database whose writes can be made to fail. */
  async function startWithOneHook(t: TestContext) {
    const store = await openStoreAt(t, await database(t));
    const clock = createTestClock();
    const told: string[] = [];
    const state = { status: 200, writable: true, refused: 0 };
    const write: Store['write'] = (work) => {
      if (state.writable) return store.write(work);
      state.refused += 1;
      return Promise.reject(new Problem('storage_unavailable'));
    };
    const dispatcher = new Dispatcher({
      store: { ...store, write },
      leaseManager: createSingleNodeLeases(store),
      clock,
      random: fixedJitterRandom(),
      sendAttempt: async ({ deliveryId }) => {
        told.push(`${deliveryId}: ${state.status}`);
        return { kind: 'answered', status: state.status, durationMs: 1 };
      },
      enqueueAlerts: skipHookAlerts,
      log: pino({ level: 'silent' }),
      baseUrl: () => 'http://carillon.test',
      retryDelaysMs: [60_000, 7_200_000],
      maxAttemptsPerHost: 1_000,
      attemptTimeoutMs: 15_000,
      onAttemptFinished: () => undefined,
    });
    // This cleanup is registered after that of the store, so it runs first.
    atEnd(t, async () => {
      await dispatcher.stop(0);
      await store.close();
    });
    await dispatcher.start();
    const account = { domain: 'acme.test', email: 'owner@acme.test' };
    const { user_id } = await store.write((tx) => createAccount(tx, account, clock.now(), systemRandom));
    const inAccount = <T>(work: (write: AccountWrite) => Promise<T>) =>
      store.write((tx) => work(new AccountWrite(tx, 1, clock.now())));
    const hook = { account_id: 1, user_id, events: 'new_event', target: 'http://target.test/' };
    const { hook_id: hookId } = await store.write(({ queries }) => insertHook(queries, hook));
    return {
      engine: dispatcher,
      clock,
      store,
      state,
      told: told as readonly string[],
      toldBy: (count: number) =>
        eventually(
          () => told.length,
          (length) => length >= count,
        ),
      /** Resolves when a commit has failed and is waiting for its retry. */
      refused: () =>
        eventually(
          () => state.refused,
          (refused) => refused > 0,
        ),
      occur: (recordId: number) =>
        inAccount(async (write) => recordOccurrences(write, [{ kind: 'new_event', recordId, userId: user_id }])),
      redeliver: (deliveryId: number) => inAccount((write) => requestRedelivery(write, { deliveryId, hookId })),
      /** Reads the state of the database after all results are committed. */
      async written() {
        const { failures, last_outcome } = await store.read
          .selectFrom('hooks')
          .select(['failures', 'last_outcome'])
          .executeTakeFirstOrThrow();
        const [pending, asks, settled, attempts] = await Promise.all([
          store.read.selectFrom('pending_deliveries').select('delivery_id').execute(),
          store.read.selectFrom('manual_attempts').select('delivery_id').execute(),
          store.read.selectFrom('finalized_deliveries').select('state').execute(),
          store.read.selectFrom('attempts').select('outcome').execute(),
        ]);
        const delivered = settled.filter((row) => row.state === 'delivered').length;
        return {
          failures,
          last_outcome,
          pending: pending.length,
          asks: asks.length,
          delivered,
          attempts: attempts.map((row) => row.outcome),
        };
      },
    };
  }

  test('C20 a failed commit is retried during a shutdown until its timeout', async (t) => {
    const { engine, clock, state, toldBy, refused, occur, written } = await startWithOneHook(t);
    state.writable = false;
    await occur(1);
    await toldBy(1);
    const stopped = engine.stop(8_000);
    await refused();
    await clock.advance(2_000);
    assert.ok(state.refused > 2, 'it is tried again');
    state.writable = true;
    await clock.advance(1_000);
    await stopped;
    const { pending, delivered } = await written();
    assert.deepEqual({ pending, delivered }, { pending: 0, delivered: 1 });
  });

  test('C20 a shutdown ends in time if nothing can be committed, and its deliveries stay pending', async (t) => {
    const { engine, clock, state, toldBy, refused, occur, written } = await startWithOneHook(t);
    state.writable = false;
    await occur(1);
    await toldBy(1);
    const stopped = engine.stop(8_000);
    await refused();
    await clock.advance(9_000);
    await stopped;
    const { pending, delivered } = await written();
    assert.deepEqual({ pending, delivered }, { pending: 1, delivered: 0 });
  });

  test('X3 C18 a redelivery requested before the first attempt is committed is made once and is not counted', async (t) => {
    const { clock, state, told, toldBy, refused, occur, redeliver, written } = await startWithOneHook(t);
    state.writable = false;
    await occur(1);
    await toldBy(1);
    state.status = 500;
    await redeliver(1);
    await toldBy(2);
    await refused();
    await clock.advance(5_000);
    assert.ok(state.refused > 1, 'it could not be written down all the while');
    assert.deepEqual(await written(), {
      failures: 0,
      last_outcome: '',
      pending: 1,
      asks: 1,
      delivered: 0,
      attempts: [],
    });

    state.writable = true;
    await clock.advance(500);
    const after = { failures: 0, last_outcome: '500', pending: 0, asks: 0, delivered: 1, attempts: ['200', '500'] };
    await eventually(written, ({ attempts }) => attempts.length === 2);
    assert.deepEqual(await written(), after);
    state.status = 200;
    // The next poll finds only the new delivery.
    await clock.advance(8 * 3_600_000);
    await occur(2);
    await toldBy(3);
    assert.deepEqual(told, ['1: 200', '1: 500', '2: 200']);
  });

  test('X3 a delivery that a redelivery has sent is not sent again while its result cannot be committed', async (t) => {
    const { clock, state, told, toldBy, occur, redeliver, written } = await startWithOneHook(t);
    const count = 140;
    state.status = 500;
    for (let number = 1; number <= count; number += 1) await occur(number);
    await toldBy(1);
    await eventually(written, ({ failures }) => failures === 1);
    state.writable = false;
    state.status = 200;
    // The queue needs several prefetches. At most 128 deliveries are sent and not committed.
    await redeliver(count);
    await toldBy(1 + 128);
    await clock.advance(400);
    assert.equal(told.length, 1 + 128);
    state.writable = true;
    await clock.advance(100);
    await eventually(written, ({ pending }) => pending === 0);
    assert.deepEqual(told.slice(0, 3), ['1: 500', `${count}: 200`, '1: 200']);
    assert.equal(told.length, count + 1);
    assert.equal(new Set(told).size, count + 1);
    assert.equal((await written()).delivered, count);
  });
}

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { insertHook } from '../../../test/kit/service/full-accounts.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { createLog } from '../../log.ts';
import { createAccount } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import type { Store } from '../../store/store.ts';
import { skipHookAlerts } from '../outbox/end-hooks.ts';
import { completeDeliveries } from './complete-deliveries.ts';
import { Completer } from './completer.ts';
import type { Completion } from './in-flight-attempt.ts';
import { findNextPendingDeliveries } from './queries.ts';

for (const { test, database } of everyStore) {
  const NOW = Date.UTC(2026, 0, 1);
  const healthy = { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '200' };
  const failing = { failures: 1, dueAt: NOW + 5_000, retryDeliveryId: 1, lastOutcome: '500' };

  /**
   * Opens a store with hooks 1, 2, …, each with a generation and one pending delivery. `ended`: the hook is no longer
   * live.
   */
  async function openWith(t: TestContext, ...hooks: readonly { generation: number; ended?: true }[]) {
    const store = await openStoreAt(t, await database(t));
    const owner = { domain: 'acme.test', email: 'owner@acme.test' };
    await store.write((tx) => createAccount(tx, owner, NOW, systemRandom));
    const of = { account_id: 1, user_id: 1 };
    await store.write(async ({ queries }) => {
      for (const [index, { generation, ended }] of hooks.entries()) {
        const hook_id = index + 1;
        const state = { date_ended: ended ? NOW : null, generation, date_created: NOW };
        await insertHook(queries, {
          ...of,
          ...state,
          hook_id,
          events: 'new_event',
          target: `http://a.test/${hook_id}`,
        });
        await queries
          .insertInto('pending_deliveries')
          .values({ ...of, kind: 'new_event', hook_id, position: 1, record_id: 1, created_at: NOW })
          .execute();
      }
    });
    const completionOf = async (hookId: number, generation: number, outcome: '200' | '500'): Promise<Completion> => {
      const [row] = await findNextPendingDeliveries(store.read, hookId, 0, 1);
      assert.ok(row !== undefined);
      const isTold = outcome === '200';
      return {
        ...{
          hookId,
          accountId: 1,
          generation,
          pendingDelivery: row,
          manualAttemptIds: [],
          hookState: isTold ? healthy : failing,
        },
        attempt: {
          beganAt: NOW + hookId,
          outcome,
          durationMs: 7,
          isCountedAsFailure: !isTold,
          reason: isTold ? 'delivered' : 'failed',
          responseText: '',
        },
        deliveryState: isTold ? 'delivered' : 'pending',
      };
    };
    const look = async () => ({
      attempts: await store.read
        .selectFrom('attempts')
        .select(['hook_id', 'attempted_at', 'outcome', 'milliseconds', 'counted', 'reason'])
        .orderBy('hook_id')
        .orderBy('outcome')
        .execute(),
      pending: (await store.read.selectFrom('pending_deliveries').select('hook_id').orderBy('hook_id').execute()).map(
        (row) => row.hook_id,
      ),
      told: (
        await store.read.selectFrom('finalized_deliveries').select(['hook_id', 'state']).orderBy('hook_id').execute()
      ).map((row) => `${row.hook_id} ${row.state}`),
      failures: (await store.read.selectFrom('hooks').select('failures').orderBy('hook_id').execute()).map(
        (row) => row.failures,
      ),
    });
    return { store, settlementOf: completionOf, look };
  }

  const attemptOf = (hookId: number, outcome: '200' | '500', counted: number, reason: string) => ({
    ...{ hook_id: hookId, attempted_at: NOW + hookId, outcome, milliseconds: 7, counted, reason },
  });

  test('C20 X3 a batch of results is committed together: deliveries are finalized, failures are counted, every attempt is recorded', async (t) => {
    const { store, settlementOf, look } = await openWith(t, { generation: 3 }, { generation: 4 });
    const completions = [await settlementOf(2, 4, '500'), await settlementOf(1, 3, '200')];
    assert.deepEqual(
      await completeDeliveries(store, () => ({ completions, completedAt: NOW }), skipHookAlerts),
      [],
      'nothing was fenced',
    );
    assert.deepEqual(await look(), {
      attempts: [attemptOf(1, '200', 0, 'delivered'), attemptOf(2, '500', 1, 'failed')],
      pending: [2],
      told: ['1 delivered'],
      failures: [0, 1],
    });
  });

  test('C13 C20 X3 a result with a stale generation changes no hook state; a 200 is still finalized and the attempt says why', async (t) => {
    const { store, settlementOf, look } = await openWith(
      t,
      { generation: 9 },
      { generation: 9 },
      { generation: 9, ended: true },
      { generation: 1 },
      { generation: 9 },
    );
    const completions = [
      await settlementOf(1, 8, '200'),
      await settlementOf(2, 8, '500'),
      await settlementOf(3, 8, '500'),
      await settlementOf(4, 1, '500'),
      // Two results in the same millisecond, from before and after the change of the generation.
      await settlementOf(5, 8, '500'),
      await settlementOf(5, 9, '200'),
    ];
    const fenced = await completeDeliveries(store, () => ({ completions, completedAt: NOW }), skipHookAlerts);
    assert.deepEqual(
      fenced.map(({ hookId }) => hookId),
      [1, 2, 3, 5],
    );
    const { attempts, ...rest } = await look();
    const anew = 'the hook was claimed again or restored meanwhile';
    assert.deepEqual(attempts, [
      attemptOf(1, '200', 0, `delivered; ${anew}, so its failures are not reset`),
      attemptOf(2, '500', 0, `${anew}: not counted`),
      attemptOf(3, '500', 1, 'failed'),
      attemptOf(4, '500', 1, 'failed'),
      attemptOf(5, '200', 0, 'delivered'),
      attemptOf(5, '500', 0, `${anew}: not counted`),
    ]);
    assert.deepEqual(rest, { pending: [2, 3, 4], told: ['1 delivered', '5 delivered'], failures: [0, 0, 0, 1, 0] });
  });

  test('C20 X3 a result that arrives before the transaction begins is part of it', async (t) => {
    const { store, settlementOf, look } = await openWith(t, { generation: 1 }, { generation: 1 });
    const [first, second] = [await settlementOf(1, 1, '200'), await settlementOf(2, 1, '200')];
    const waiting = [first];
    const settling = completeDeliveries(store, () => ({ completions: [...waiting], completedAt: NOW }), skipHookAlerts);
    waiting.push(second);
    assert.deepEqual(await settling, []);
    assert.deepEqual((await look()).told, ['1 delivered', '2 delivered']);
  });

  test('C17 a hook ends when its last result is committed, not before', async (t) => {
    const { store, settlementOf } = await openWith(t, { generation: 1 });
    const clock = createTestClock(NOW);
    const write: Store['write'] = async (work) => {
      // Delay the write, as if other writes came first.
      await clock.advance(7);
      return store.write(work);
    };
    const deps = { clock, enqueueAlerts: skipHookAlerts, log: createLog('silent'), onBatchCommitted: () => undefined };
    const completer = new Completer({ ...deps, store: { ...store, write } });
    completer.add({ ...(await settlementOf(1, 1, '500')), endedReason: 'answered_401' });
    await completer.waitUntilCommitted();
    const { date_ended } = await store.read.selectFrom('hooks').select('date_ended').executeTakeFirstOrThrow();
    assert.equal(date_ended, NOW + 7);
  });

  test('C20 a result that arrives right after a batch is committed too', async (t) => {
    const hooks = Array.from({ length: 12 }, () => ({ generation: 1 }));
    const { store, settlementOf, look } = await openWith(t, ...hooks);
    const completions: Completion[] = [];
    for (const [index] of hooks.entries()) completions.push(await settlementOf(index + 1, 1, '200'));
    const addNext = async (after: number) => {
      for (let steps = 0; steps < after; steps += 1) await Promise.resolve();
      for (const completion of completions.slice(after, after + 1)) completer.add(completion);
    };
    const onBatchCommitted = ([first]: readonly Completion[]) => void addNext(first?.hookId ?? 0);
    const deps = {
      clock: createTestClock(NOW),
      enqueueAlerts: skipHookAlerts,
      log: createLog('silent'),
      store,
      onBatchCommitted,
    };
    const completer = new Completer(deps);
    await addNext(0);
    await eventually(look, ({ told }) => told.length === hooks.length);
  });

  test('C20 X3 hundreds of results are committed in one batch, several of them of the same hook', async (t) => {
    const { store, settlementOf, look } = await openWith(t, ...Array.from({ length: 130 }, () => ({ generation: 1 })));
    const completions: Completion[] = [];
    for (let hookId = 130; hookId > 0; hookId -= 1) completions.push(await settlementOf(hookId, 1, '200'));
    const again = completions
      .slice(0, 20)
      .map((one) => ({ ...one, attempt: { ...one.attempt, beganAt: NOW + 1_000 } }));
    assert.deepEqual(
      await completeDeliveries(
        store,
        () => ({ completions: [...completions, ...again], completedAt: NOW }),
        skipHookAlerts,
      ),
      [],
    );
    const { attempts, pending, told } = await look();
    assert.deepEqual([attempts.length, pending.length, told.length], [150, 0, 130]);
  });
}

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { atEnd } from '../../../test/kit/cleanup.ts';
import { createTestClock, fixedJitterRandom, TEST_CLOCK_START } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { QueryInterceptor } from '../../../test/kit/database/query-interceptor.ts';
import { eventually, eventuallyAfterSteps } from '../../../test/kit/eventually.ts';
import { insertHook } from '../../../test/kit/service/full-accounts.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import type { Clock } from '../../clock.ts';
import { createLog } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import { CommitEventsBuilder } from '../../store/commit-events.ts';
import type { CommitEvents, Store, Tx } from '../../store/store.ts';
import { createSingleNodeLeases, type LeaseManager } from '../cluster/leases.ts';
import { setSigningSecrets } from '../outbox/change-settings.ts';
import { endHooks, skipHookAlerts } from '../outbox/end-hooks.ts';
import { recordOccurrences } from '../outbox/record-occurrences.ts';
import { restoreHook } from '../outbox/restore-hook.ts';
import type { SendAttempt } from '../transport/attempt.ts';
import { createSignatureHeaders } from '../transport/signature.ts';
import { Dispatcher } from './dispatcher.ts';
import type { AttemptOutcome } from './retry-policy.ts';

for (const { test, database } of everyStore) {
  const OK: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
  const HOOK = 1;
  const otherHook = { account_id: 1, user_id: 1, events: 'new_client', target: 'http://other.test/' };

  /** Starts a dispatcher on a real store with one hook for new_event. Records its attempts. */
  async function startDispatcher(
    t: TestContext,
    attempt: SendAttempt = async () => OK,
    seen = (clock: Clock): Clock => clock,
    overrides: (claims: LeaseManager) => Partial<LeaseManager> = () => ({}),
  ) {
    const store = await openStoreAt(t, await database(t));
    await store.write(async ({ queries }) => {
      const account_id = 1;
      await queries
        .insertInto('accounts')
        .values({ account_id, domain: 'a.test', company_name: 'A', date_created: 0 })
        .execute();
      await queries.insertInto('positions').values({ account_id, position: 0 }).execute();
      const user = { account_id, user_id: 1, email: 'a@a.test', first_name: '', last_name: '', role: 'owner' };
      await queries
        .insertInto('users')
        .values({ ...user, date_created: 0, date_modified: null, date_deleted: null })
        .execute();
      const hook = { hook_id: HOOK, account_id, user_id: 1, events: 'new_event', target: 'http://a.test/' };
      await insertHook(queries, hook);
    });
    const between = new QueryInterceptor();
    const clock = createTestClock();
    const attempted: string[] = [];
    let refusedWrites = 0;
    let hear: (news: CommitEvents) => unknown = () => undefined;
    const engineStore: Store = {
      ...store,
      onCommitted(listener) {
        hear = listener;
        store.onCommitted(listener);
      },
      read: between.installOn(store.read),
      write(work) {
        if (refusedWrites === 0) return store.write(work);
        refusedWrites -= 1;
        return Promise.reject(new Problem('storage_unavailable'));
      },
    };
    const claims = createSingleNodeLeases(engineStore);
    const dispatcher = new Dispatcher({
      store: engineStore,
      leaseManager: { ...claims, ...overrides(claims) },
      clock: seen(clock),
      random: fixedJitterRandom(),
      sendAttempt: (order) => {
        attempted.push(order.deliveryId);
        return attempt(order);
      },
      enqueueAlerts: skipHookAlerts,
      log: createLog('silent'),
      baseUrl: () => 'http://127.0.0.1',
      retryDelaysMs: [60_000, 60_000],
      maxAttemptsPerHost: 1_000,
      attemptTimeoutMs: 1_000,
      onAttemptFinished: () => undefined,
    });
    // This cleanup is registered after that of the store, so it runs first.
    atEnd(t, async () => {
      between.release();
      await dispatcher.stop(0);
      await store.close();
    });
    await dispatcher.start();
    const inAccount = <T>(work: (write: AccountWrite) => Promise<T>) =>
      store.write((tx: Tx) => work(new AccountWrite(tx, 1, TEST_CLOCK_START)));
    return {
      engine: dispatcher,
      store,
      clock,
      between,
      attempted,
      inAccount,
      /** Publishes events as if they came from another node. */
      hear: (news: CommitEvents) => hear(news),
      happen: () =>
        inAccount(async (write) => recordOccurrences(write, [{ kind: 'new_event', recordId: 1, userId: 1 }])),
      refuseWrites: (count: number) => {
        refusedWrites = count;
      },
      settled: async () => (await store.read.selectFrom('finalized_deliveries').select('delivery_id').execute()).length,
      pending: async () => (await store.read.selectFrom('pending_deliveries').select('delivery_id').execute()).length,
    };
  }

  test('C20 many occurrences of one write have consecutive positions and deliveries, in their order', async (t) => {
    const { store, inAccount, settled } = await startDispatcher(t);
    const kinds = ['new_event', 'new_client', 'new_event'] as const;
    const occurrences = Array.from({ length: 300 }, (_, index) => {
      const kind = kinds[index % kinds.length] ?? 'new_event';
      return { kind, recordId: 1_000 - index, userId: 1 };
    });
    await inAccount(async (write) => recordOccurrences(write, occurrences));
    const stored = await store.read
      .selectFrom('occurrences')
      .select(['position', 'kind', 'record_id'])
      .orderBy('position')
      .execute();
    assert.deepEqual(
      stored,
      occurrences.map(({ kind, recordId }, index) => ({ position: index + 1, kind, record_id: recordId })),
    );
    await eventually(settled, (count) => count === 200);
    const sent = await store.read
      .selectFrom('finalized_deliveries')
      .select(['position', 'kind', 'record_id'])
      .orderBy('delivery_id')
      .execute();
    assert.deepEqual(
      sent,
      stored.filter(({ kind }) => kind === 'new_event'),
    );
  });

  test('C20 a delivery that becomes pending during a prefetch is sent immediately, not after the next poll', async (t) => {
    const { between, attempted, happen, settled, clock } = await startDispatcher(t);
    const reading = between.delayNext('pending_deliveries');
    await happen();
    await reading;
    await happen();
    between.release();
    await eventually(settled, (count) => count === 2);
    assert.deepEqual(attempted, ['1', '2']);
    assert.equal(clock.now(), TEST_CLOCK_START, 'no time has passed');
  });

  test('C20 deliveries pushed by a commit event are sent without a read, and are not sent again by a read', async (t) => {
    const { between, attempted, happen, inAccount, settled } = await startDispatcher(t);
    await happen();
    await eventually(settled, (count) => count === 1);
    const reading = between.delayNext('pending_deliveries');
    await happen();
    await eventually(settled, (count) => count === 2);
    await inAccount(async (write) => AccountWrite.transactionOf(write).events.addPendingHooks([HOOK]));
    await reading;
    between.release();
    await happen();
    await eventually(settled, (count) => count === 3);
    assert.deepEqual(attempted, ['1', '2', '3']);
  });

  test('C13 C20 a hook that is ended and restored during its claim is delivered to in its new state', async (t) => {
    const { between, happen, inAccount, settled, pending, store } = await startDispatcher(t);
    const reading = between.delayNext('hooks');
    await happen();
    await reading;
    await inAccount(async (write) => void (await endHooks(write, [HOOK], 'deleted')));
    const endedHook = await store.read.selectFrom('hooks').selectAll().executeTakeFirstOrThrow();
    await inAccount((write) => restoreHook(write, endedHook));
    between.release();
    await eventually(settled, (count) => count === 1);
    assert.equal(await pending(), 0);
  });

  test('X3 manual attempts are made although retention has dropped the deliveries of all those before them', async (t) => {
    const { attempted, happen, inAccount, settled } = await startDispatcher(t);
    await happen();
    await eventually(settled, (count) => count === 1);
    await inAccount(async (write) => {
      for (let deliveryId = 1_001; deliveryId <= 1_070; deliveryId += 1)
        await write.insertRow('manual_attempts', { hook_id: HOOK, delivery_id: deliveryId });
      await write.insertRow('manual_attempts', { hook_id: HOOK, delivery_id: 1 });
      AccountWrite.transactionOf(write).events.addManualAttempts([HOOK]);
    });
    await eventually(
      () => attempted,
      (ids) => ids.length === 2,
    );
    assert.deepEqual(attempted, ['1', '1']);
  });

  test('C20 a hook whose queue cannot be created is claimed again', async (t) => {
    const targets = ['no URL'];
    const { clock, happen, settled } = await startDispatcher(t, undefined, undefined, ({ claim }) => ({
      claim: async (hookIds) =>
        (await claim(hookIds)).map((row) => ({ ...row, target: targets.shift() ?? row.target })),
    }));
    await happen();
    await eventually(
      () => targets.length,
      (count) => count === 0,
    );
    await eventually(
      () => clock.remainingDelaysMs,
      (delays) => delays.includes(500),
    );
    await clock.advance(500);
    assert.equal(await eventually(settled, (count) => count === 1), 1);
  });

  test('X3 the lease of an idle queue is kept until the result of its last attempt is committed', async (t) => {
    const released: number[] = [];
    const outcomes: AttemptOutcome[] = [OK, { kind: 'answered', status: 500, durationMs: 1 }];
    const dispatcher = await startDispatcher(
      t,
      async () => outcomes.shift() ?? OK,
      undefined,
      () => ({
        isMultiNode: true,
        pollIntervalMs: 11_000,
        findPendingWork: async () => ({ pendingHookIds: [], manualAttemptHookIds: [], nextAfterHookId: undefined }),
        release: async (leases) => void released.push(...leases.map(({ hookId }) => hookId)),
      }),
    );
    const { engine, clock, happen, inAccount, settled, attempted, refuseWrites } = dispatcher;
    await happen();
    await eventually(settled, (count) => count === 1);
    refuseWrites(10_000);
    await inAccount(async (write) => {
      await write.insertRow('manual_attempts', { hook_id: HOOK, delivery_id: 1 });
      AccountWrite.transactionOf(write).events.addManualAttempts([HOOK]);
    });
    await eventually(
      () => [attempted.length, engine.inFlightCount],
      ([count, inFlight]) => count === 2 && inFlight === 0,
    );
    await clock.advance(33_000);
    assert.deepEqual(released, []);
    refuseWrites(0);
    await clock.advance(500);
    const leftAttempts = () => dispatcher.store.read.selectFrom('manual_attempts').select('hook_id').execute();
    await eventually(leftAttempts, (rows) => rows.length === 0);
    await clock.advance(22_000);
    assert.deepEqual(
      await eventually(
        () => released,
        (hookIds) => hookIds.length > 0,
      ),
      [HOOK],
    );
  });

  test('C19 an attempt that throws at its start ends with a local error, and the delivery is sent later', async (t) => {
    const outcomes = [undefined, OK];
    const attempt: SendAttempt = () => {
      const outcome = outcomes.shift();
      if (outcome === undefined) throw new Error('a bug');
      return Promise.resolve(outcome);
    };
    const { engine, clock, happen, settled } = await startDispatcher(t, attempt);
    await happen();
    await eventually(
      () => engine.inFlightCount + outcomes.length,
      (count) => count === 1,
    );
    await clock.advance(1_000);
    assert.equal(await eventually(settled, (count) => count === 1), 1);
  });

  test('C22 the end of one hook does not prevent the claim of another', async (t) => {
    const { between, happen, inAccount, settled } = await startDispatcher(t);
    const other = await inAccount((write) => insertHook(AccountWrite.transactionOf(write).queries, otherHook));
    const reading = between.delayNext('hooks');
    await happen();
    await reading;
    await inAccount(async (write) => void (await endHooks(write, [other.hook_id], 'deleted')));
    between.release();
    // A second claim would wait here forever.
    void between.delayNext('hooks');
    assert.equal(await eventually(settled, (count) => count === 1), 1);
    between.release();
  });

  test('C22 a slow claim or prefetch of one queue does not delay another', async (t) => {
    const { between, happen, inAccount, settled } = await startDispatcher(t);
    const other = await inAccount((write) => insertHook(AccountWrite.transactionOf(write).queries, otherHook));
    await happen();
    await eventually(settled, (count) => count === 1);
    for (const [round, table] of ['hooks', 'pending_deliveries'].entries()) {
      const waiting = between.delayNext(table);
      await inAccount(async (write) => {
        recordOccurrences(write, [{ kind: 'new_client', recordId: 1, userId: 1 }]);
        AccountWrite.transactionOf(write).events.addPendingHooks([other.hook_id]);
      });
      await waiting;
      await happen();
      assert.equal(await eventually(settled, (count) => count === 2 + 2 * round), 2 + 2 * round);
      between.release();
      assert.equal(await eventually(settled, (count) => count === 3 + 2 * round), 3 + 2 * round);
    }
  });

  test('C22 of many attempts to unproven targets 20 start every 20 ms, while those to a proven target start immediately', async (t) => {
    const { promise: late, resolve: answer } = Promise.withResolvers<void>();
    t.after(() => answer());
    const attempt: SendAttempt = async ({ target }) => {
      if (target !== 'http://a.test/') await late;
      return OK;
    };
    const { attempted, clock, happen, inAccount, settled } = await startDispatcher(t, attempt);
    await happen();
    await eventually(settled, (count) => count === 1);
    await clock.advance(20);
    await inAccount(async (write) => {
      for (let number = 1; number <= 44; number += 1) {
        const hook = { ...otherHook, events: 'new_event', target: `http://b.test/${number}` };
        await insertHook(AccountWrite.transactionOf(write).queries, hook);
      }
    });
    const begun = async () => attempted.length;
    let expected = 2;
    await happen();
    for (const more of [20, 20, 4]) {
      expected += more;
      await eventually(begun, (count) => count >= expected);
      await eventually(settled, (count) => count === 2);
      assert.equal(attempted.length, expected);
      await clock.advance(20);
    }
    answer();
    await eventually(settled, (count) => count === 46);
  });

  test('C20 a hook leased by another node is claimed once between two polls, unless it may have been released', async (t) => {
    let isTheirs = true;
    let asked = 0;
    const { clock, happen, inAccount, settled } = await startDispatcher(
      t,
      undefined,
      undefined,
      ({ claim, findPendingWork }) => ({
        pollIntervalMs: 1_000,
        claim(hookIds) {
          asked += 1;
          return isTheirs ? Promise.resolve([]) : claim(hookIds);
        },
        findPendingWork: (after) =>
          isTheirs
            ? Promise.resolve({ pendingHookIds: [], manualAttemptHookIds: [], nextAfterHookId: undefined })
            : findPendingWork(after),
      }),
    );
    for (let count = 0; count < 3; count += 1) await happen();
    assert.equal(asked, 1);
    await clock.advance(1_000);
    await happen();
    assert.equal(asked, 2, 'nobody knows whose it is after a look');
    await inAccount(async (write) => AccountWrite.transactionOf(write).events.addPendingHooks([HOOK]));
    assert.equal(asked, 3, 'this is said of what was let go of');
    isTheirs = false;
    await clock.advance(1_000);
    assert.equal(await eventually(settled, (count) => count === 4), 4);
  });

  test('C20 a hook that is released during a failed claim is claimed again', async (t) => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    const { clock, happen, inAccount, settled } = await startDispatcher(t, undefined, undefined, ({ claim }) => ({
      async claim(hookIds) {
        asked += 1;
        if (asked > 1) return claim(hookIds);
        await answered;
        return [];
      },
    }));
    await happen();
    await eventually(
      () => asked,
      (times) => times === 1,
    );
    await inAccount(async (write) => AccountWrite.transactionOf(write).events.addPendingHooks([HOOK]));
    answer();
    assert.equal(await eventually(settled, (count) => count === 1), 1);
    assert.deepEqual([asked, clock.now()], [2, TEST_CLOCK_START]);
  });

  test('C20 a commit of another delivering node for its own hooks causes no claim, also during a claim', async (t) => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    const { happen, hear } = await startDispatcher(t, undefined, undefined, () => ({
      async claim() {
        asked += 1;
        await answered;
        return [];
      },
    }));
    await happen();
    await eventually(
      () => asked,
      (times) => times === 1,
    );
    const news = new CommitEventsBuilder('deliverer');
    news.addPendingHooks([HOOK]);
    hear(news);
    answer();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    assert.equal(asked, 1);
  });

  test('C22 hooks leased by other nodes do not delay the claim of another hook', async (t) => {
    const theirs = new Set(Array.from({ length: 150 }, (_, index) => HOOK + 1 + index));
    const { promise: happened, resolve } = Promise.withResolvers<void>();
    const claims: (readonly number[])[] = [];
    const { settled, happen, hear } = await startDispatcher(t, undefined, undefined, ({ claim }) => ({
      async claim(hookIds) {
        claims.push(hookIds);
        await happened;
        if (claims.length < 20) sayFree();
        return claim(hookIds.filter((hookId) => !theirs.has(hookId)));
      },
    }));
    const sayFree = () => {
      const news = new CommitEventsBuilder('other');
      news.addPendingHooks(theirs);
      hear(news);
    };
    sayFree();
    await happen();
    resolve();
    await eventually(settled, (count) => count === 1);
    assert.equal(
      claims.findIndex((hookIds) => hookIds.includes(HOOK)),
      1,
    );
    assert.ok(claims.length >= 20, 'the others are asked for as often as it is said');
  });

  test('C13 C20 a shutdown ends in time, even if an attempt hangs whose hook has ended', async (t) => {
    const { engine, attempted, clock, happen, inAccount, pending } = await startDispatcher(
      t,
      ({ signal, onBeforeSend }) => {
        onBeforeSend?.();
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ kind: 'local_error', code: 'stopped', durationMs: 1 })),
        );
      },
    );
    await happen();
    await eventually(
      () => attempted,
      (begun) => begun.length === 1,
    );
    await inAccount(async (write) => void (await endHooks(write, [HOOK], 'deleted')));
    let isStopped = false;
    void engine.stop(8_000).then(() => {
      isStopped = true;
    });
    await clock.advance(7_999);
    assert.equal(isStopped, false, 'its target may answer still');
    await eventuallyAfterSteps(
      () => clock.advance(1),
      () => isStopped,
      (is) => is,
    );
    assert.equal(await pending(), 1);
  });

  test('C20 a shutdown waits for a running claim, so that its leases are released too', async (t) => {
    const order: string[] = [];
    const { engine, between, happen } = await startDispatcher(t, undefined, undefined, ({ claim }) => ({
      claim: (hookIds) => claim(hookIds).finally(() => order.push('taken up')),
      async stop() {
        order.push('stopped');
      },
    }));
    const takingUp = between.delayNext('hooks');
    await happen();
    await takingUp;
    const stopped = engine.stop(8_000);
    for (let turns = 0; turns < 10; turns += 1) await turn();
    between.release();
    await stopped;
    assert.deepEqual(order, ['taken up', 'stopped']);
  });

  for (const [at, isStoppedAt] of [
    ['whose attempt is aborted before it was sent', 'dialling'],
    ['that is still being claimed', 'taking up'],
  ] as const) {
    test(`C20 a shutdown immediately releases the lease of a hook ${at}, also while another target hangs`, async (t) => {
      const hanging = Promise.withResolvers<void>();
      const dialling = Promise.withResolvers<void>();
      t.after(() => hanging.resolve());
      t.after(() => dialling.resolve());
      const attempt: SendAttempt = async ({ target, onBeforeSend, signal }) => {
        if (target === otherHook.target) await hanging.promise;
        else await dialling.promise;
        onBeforeSend?.();
        return signal.aborted ? { kind: 'local_error', code: 'stopped', durationMs: 1 } : OK;
      };
      let isLeaving = false;
      const free: number[] = [];
      let refused = 0;
      const claims: Partial<LeaseManager> = {
        isLeaseValid: () => !isLeaving,
        stopClaiming() {
          isLeaving = true;
        },
        async release(queues) {
          if (queues.length === 0) return;
          refused += 1;
          if (refused === 1) throw new Problem('storage_unavailable');
          free.push(...queues.map(({ hookId }) => hookId));
        },
      };
      const { engine, attempted, between, clock, happen, inAccount } = await startDispatcher(
        t,
        attempt,
        undefined,
        () => claims,
      );
      await inAccount((write) => insertHook(AccountWrite.transactionOf(write).queries, otherHook));
      await inAccount(async (write) => recordOccurrences(write, [{ kind: 'new_client', recordId: 1, userId: 1 }]));
      const begun = (count: number) =>
        eventually(
          () => attempted.length,
          (times) => times === count,
        );
      await begun(1);
      const takingUp = between.delayNext(isStoppedAt === 'taking up' ? 'hooks' : 'none');
      await happen();
      await (isStoppedAt === 'taking up' ? takingUp : begun(2));
      const stopped = engine.stop(8_000);
      for (let turns = 0; turns < 10; turns += 1) await turn();
      assert.deepEqual(free, []);
      between.release();
      dialling.resolve();
      await eventually(
        () => refused,
        (times) => times === 1,
      );
      await eventuallyAfterSteps(
        () => clock.advance(500),
        () => free,
        (queues) => queues.length > 0,
      );
      assert.deepEqual([free, refused], [[HOOK], 2]);
      hanging.resolve();
      await stopped;
    });
  }

  test('C13 nothing is sent to a hook that ends during its claim', async (t) => {
    const { between, attempted, happen, inAccount, pending } = await startDispatcher(t);
    const reading = between.delayNext('hooks');
    await happen();
    await reading;
    await inAccount(async (write) => void (await endHooks(write, [HOOK], 'deleted')));
    between.release();
    await happen();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    assert.deepEqual(attempted, []);
    assert.equal(await pending(), 1);
  });

  test('C20 a result is kept in memory until it can be committed; meanwhile nothing is sent twice', async (t) => {
    const { attempted, happen, refuseWrites, settled, pending, clock } = await startDispatcher(t);
    refuseWrites(3);
    await happen();
    for (let refused = 0; refused < 3; refused += 1) {
      await eventually(
        () => clock.remainingDelaysMs,
        (pending) => pending.includes(500),
      );
      assert.deepEqual([await settled(), await pending()], [0, 1]);
      await clock.advance(500);
    }
    await eventually(settled, (count) => count === 1);
    assert.deepEqual([attempted, await pending()], [['1'], 0]);
  });

  test('C20 a failed prefetch is retried', async (t) => {
    const { between, happen, settled, attempted, clock } = await startDispatcher(t);
    between.remainingFailures = 2;
    await happen();
    for (let failed = 0; failed < 2; failed += 1) {
      await eventually(
        () => clock.remainingDelaysMs,
        (pending) => pending.includes(500),
      );
      assert.deepEqual(attempted, []);
      await clock.advance(500);
    }
    await eventually(settled, (count) => count === 1);
    assert.deepEqual(attempted, ['1']);
  });

  test('C20 a pending delivery without a wake-up is found within a minute', async (t) => {
    const { store, settled, clock, attempted } = await startDispatcher(t);
    const quiet = async ({ queries }: Tx) => {
      const delivery = {
        account_id: 1,
        user_id: 1,
        hook_id: HOOK,
        kind: 'new_event',
        record_id: 1,
        created_at: TEST_CLOCK_START,
      };
      await queries
        .insertInto('pending_deliveries')
        .values({ ...delivery, position: 1 })
        .execute();
    };
    await store.write(quiet);
    for (let turns = 0; turns < 10; turns += 1) await turn();
    assert.deepEqual(attempted, []);
    await clock.advance(60_000);
    await eventually(settled, (count) => count === 1);
  });

  for (const reading of [1, 2, 3, 4, 5]) {
    test(`C18 a backoff that ends at reading ${reading} of the clock during a dispatch does not stall the queue`, async (t) => {
      const outcomes: AttemptOutcome[] = [{ kind: 'answered', status: 500, durationMs: 1 }, OK];
      let readings = Number.POSITIVE_INFINITY;
      // Timers fire a millisecond early, and the clock advances while the dispatcher runs.
      const early = (clock: Clock): Clock => ({
        ...clock,
        now: () => {
          readings += 1;
          return clock.now() + (readings >= reading ? 1 : 0);
        },
        after: (waitMs, run) =>
          clock.after(waitMs > 1 ? waitMs - 1 : waitMs, () => {
            readings = 0;
            run();
          }),
      });
      const { attempted, clock, happen } = await startDispatcher(t, async () => outcomes.shift() ?? OK, early);
      await happen();
      await eventually(
        () => attempted.length,
        (count) => count === 1,
      );
      await eventually(
        () => clock.remainingDelaysMs.some((waitMs) => waitMs > 50_000),
        (isWaiting) => isWaiting,
      );
      await clock.advance(60_000);
      // The retry starts within milliseconds, before the next poll would find it.
      await eventuallyAfterSteps(
        () => clock.advance(1),
        () => attempted.length,
        (count) => count >= 2,
      );
      assert.deepEqual(attempted.slice(0, 2), ['1', '1']);
    });
  }

  test('X8 a rotation during a claim, during a prefetch or before the request is sent: attempts are signed with the new secrets', async (t) => {
    const signatures: (readonly string[] | undefined)[] = [];
    const { inAccount, between, happen, settled } = await startDispatcher(t, async ({ headers, signal }) => {
      signatures.push(headers?.slice(4));
      // The first attempt stays in flight until it is aborted. A limit makes the test fail if that does not happen.
      const stopped = () => signal.aborted;
      if (signatures.length === 1) await eventually(stopped, Boolean).catch(() => undefined);
      return stopped() ? { kind: 'local_error', code: 'stopped', durationMs: 1 } : OK;
    });
    const secretOf = (letter: string) => ({ secret: `whsec_${letter.repeat(44)}`, since: 0, until: null });
    const signWith = (letter: string) => inAccount((write) => setSigningSecrets(write, HOOK, [secretOf(letter)]));
    const begun: string[] = [];
    const held = (what: string) =>
      between.delayNext('hooks').then(() => {
        begun.push(what);
      });
    const hasBegun = (what: string) => eventually(() => begun.includes(what), Boolean);
    void held('taking up');
    await happen();
    await hasBegun('taking up');
    await signWith('a');
    between.release();
    void held('reading');
    await hasBegun('reading');
    await signWith('b');
    between.release();
    await eventually(
      () => signatures.length,
      (count) => count === 1,
    );
    await signWith('c');
    await eventually(settled, (count) => count === 1);
    const delivery = {
      webhookId: '1',
      body: '{"resource_url":"http://127.0.0.1/v2/events/1"}',
      sentAt: TEST_CLOCK_START,
    };
    assert.deepEqual(
      signatures,
      ['b', 'c'].map((letter) => createSignatureHeaders([secretOf(letter)], delivery)),
    );
  });

  test('X8 secrets are read after the acknowledgement is committed: a rotation in between, without a notification, is used', async (t) => {
    const signatures: (readonly string[] | undefined)[] = [];
    const heard = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let said = 0;
    const sign = (letter: string) => [{ secret: `whsec_${letter.repeat(44)}`, since: 0, until: null }];
    const { store, inAccount, happen, settled, clock } = await startDispatcher(
      t,
      async ({ headers }) => {
        signatures.push(headers?.slice(4));
        return OK;
      },
      undefined,
      () => ({ acknowledgeChanges: () => heard[Math.min(said++, 1)]?.promise ?? assert.fail() }),
    );
    await happen();
    await eventually(settled, (count) => count === 1);
    void inAccount((write) => setSigningSecrets(write, HOOK, sign('a')));
    await eventually(
      () => said,
      (count) => count === 1,
    );
    await happen();
    // The failed acknowledgement is retried; meanwhile no attempt starts.
    heard[0]?.reject(new Error('the database is away'));
    await eventually(
      () => clock.remainingDelaysMs,
      (pending) => pending.includes(500),
    );
    await store.write(({ queries }) =>
      queries
        .updateTable('hooks')
        .set({ secrets: JSON.stringify(sign('b')) })
        .execute(),
    );
    await clock.advance(500);
    assert.deepEqual([said, signatures.length], [2, 1]);
    heard[1]?.resolve();
    await eventually(settled, (count) => count === 2);
    const delivery = {
      webhookId: '2',
      body: '{"resource_url":"http://127.0.0.1/v2/events/1"}',
      sentAt: TEST_CLOCK_START + 500,
    };
    assert.deepEqual(signatures[1], createSignatureHeaders(sign('b'), delivery));
  });

  test('C18 C20 a queue whose retry timer is lost is found by the next poll', async (t) => {
    const outcomes: AttemptOutcome[] = [{ kind: 'answered', status: 500, durationMs: 1 }, OK];
    let waits = 0;
    const withoutQueueTimer = (clock: Clock): Clock => ({
      ...clock,
      // The first timer is that of the poll. Another timer at the same time is that of the queue.
      after: (waitMs, run) => {
        waits += 1;
        return waits > 1 && clock.now() === TEST_CLOCK_START ? () => undefined : clock.after(waitMs, run);
      },
    });
    const { attempted, clock, happen, settled } = await startDispatcher(
      t,
      async () => outcomes.shift() ?? OK,
      withoutQueueTimer,
    );
    await happen();
    await eventually(
      () => waits,
      (count) => count > 1,
    );
    assert.deepEqual([attempted.length, clock.remainingDelaysMs.length], [1, 1]);
    await clock.advance(60_000);
    await eventually(settled, (count) => count === 1);
    assert.equal(attempted.length, 2);
  });
}

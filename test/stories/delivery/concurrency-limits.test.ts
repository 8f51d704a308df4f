import assert from 'node:assert/strict';
import type { AttemptOutcome } from '../../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import { eventually } from '../../kit/eventually.ts';
import { insertHook } from '../../kit/service/full-accounts.ts';
import type { ApiUser, TestService } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** Number of hanging targets: more than there are slots for attempts. */
  const HANGING_TARGETS = 2_100;
  const ACCOUNT_LIMIT = 500;
  /** Concurrency limit of all unproven targets together. */
  const UNPROVEN_LIMIT = 1_000;

  const SUCCESS: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
  const UNSUBSCRIBED: AttemptOutcome = { kind: 'answered', status: 401, durationMs: 1 };

  /** Replaces the network: hostile targets hang until they are released, all other targets respond. */
  function hangingTargets() {
    const hanging = new Map<string, (outcome: AttemptOutcome) => void>();
    const started: string[] = [];
    let maxHanging = 0;
    const attempt: SendAttempt = ({ target, signal }) => {
      started.push(target);
      if (!target.includes('hostile')) return Promise.resolve(SUCCESS);
      const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
      const end = (outcome: AttemptOutcome) => {
        hanging.delete(target);
        resolve(outcome);
      };
      hanging.set(target, end);
      signal.addEventListener('abort', () => end({ kind: 'local_error', code: 'stopped', durationMs: 1 }));
      maxHanging = Math.max(maxHanging, hanging.size);
      return promise;
    };
    return {
      attempt,
      started: started as readonly string[],
      hanging,
      get maxHanging() {
        return maxHanging;
      },
      release(count: number, outcome = SUCCESS) {
        for (const end of [...hanging.values()].slice(0, count)) end(outcome);
      },
    };
  }

  /** Inserts hooks directly, because that many requests would take too long. */
  async function insertHooks(carillon: TestService, who: ApiUser, count: number): Promise<number[]> {
    return carillon.store.write(async (tx) => {
      const { account_id } = await tx.queries
        .selectFrom('users')
        .select('account_id')
        .where('user_id', '=', Number(who.userId))
        .executeTakeFirstOrThrow();
      const hookIds: number[] = [];
      for (let number = 0; number < count; number += 1) {
        const { hook_id } = await insertHook(tx.queries, {
          account_id,
          user_id: Number(who.userId),
          events: 'new_event',
          target: `http://${who.domain}/${number}`,
          date_created: Date.now(),
        });
        hookIds.push(hook_id);
      }
      return hookIds;
    });
  }

  test('C22 an account whose targets all hang leaves slots to other accounts, and all of its own hook queues are served', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, { deps: { sendAttempt: targets.attempt } });
    const hostile = await carillon.createAccount('hostile.test');
    const healthy = await carillon.createAccount('healthy.test');
    await insertHooks(carillon, hostile, HANGING_TARGETS);
    await insertHooks(carillon, healthy, 1);

    await hostile.carillon.events.create(event);
    await eventually(
      () => targets.hanging.size,
      (size) => size >= ACCOUNT_LIMIT,
    );
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.started.includes('http://healthy.test/0'),
      (delivered) => delivered,
    );
    assert.equal(targets.hanging.size, ACCOUNT_LIMIT, 'exactly its concurrency limit');

    // When an attempt ends, with a 200 or a 401, the next queue starts.
    for (const outcome of [SUCCESS, UNSUBSCRIBED]) {
      const before = targets.started.length;
      targets.release(1, outcome);
      await eventually(
        () => targets.started.length,
        (length) => length > before,
      );
      assert.equal(targets.hanging.size, ACCOUNT_LIMIT);
    }

    await eventually(
      () => {
        targets.release(ACCOUNT_LIMIT);
        return targets.started.length;
      },
      (length) => length === HANGING_TARGETS + 1,
      20_000,
    );
    targets.release(ACCOUNT_LIMIT);
    assert.equal(new Set(targets.started).size, HANGING_TARGETS + 1, 'each target once');
    assert.equal(targets.maxHanging, ACCOUNT_LIMIT);
    await eventually(
      () => carillon.store.read.selectFrom('finalized_deliveries').select('delivery_id').execute(),
      (rows) => rows.length === HANGING_TARGETS,
    );
  });

  test('C22 when many accounts have hanging targets, proven targets are served immediately, and a new one is served in rotation', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, { deps: { sendAttempt: targets.attempt } });
    const healthy = await carillon.createAccount('healthy.test');
    await insertHooks(carillon, healthy, 1);
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.started.length,
      (started) => started === 1,
    );
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const hostile = await carillon.createAccount(`${name}.hostile.test`);
      await insertHooks(carillon, hostile, ACCOUNT_LIMIT);
      await hostile.carillon.events.create(event);
    }
    await eventually(
      () => targets.hanging.size,
      (size) => size >= UNPROVEN_LIMIT,
    );

    const startedBefore = targets.started.length;
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.started.slice(startedBefore).includes('http://healthy.test/0'),
      (again) => again,
    );
    const newcomer = await carillon.createAccount('newcomer.test');
    await insertHooks(carillon, newcomer, 1);
    await newcomer.carillon.events.create(event);
    await eventually(
      () =>
        carillon.store.read
          .selectFrom('pending_deliveries')
          .select('delivery_id')
          .where('kind', '=', 'new_event')
          .execute(),
      (rows) => rows.length >= 5 * ACCOUNT_LIMIT + 1,
    );
    assert.equal(targets.hanging.size, UNPROVEN_LIMIT, 'exactly the limit of unproven targets');
    assert.ok(!targets.started.includes('http://newcomer.test/0'), 'the new target is unproven, too');
    // Accounts are served round-robin: the new account does not wait for the 1,500 queues ahead of it.
    let ended = 0;
    await eventually(
      () => {
        targets.release(1);
        ended += 1;
        return targets.started.includes('http://newcomer.test/0');
      },
      (delivered) => delivered,
    );
    assert.ok(ended < 100, `after ${ended} ended attempts`);
    assert.equal(targets.maxHanging, UNPROVEN_LIMIT);
  });

  test('C22 when many hooks match one occurrence, a few attempts start per event-loop iteration, and requests are handled in between', async (t) => {
    let iteration = 0;
    const started = new Map<number, number>();
    let all = 0;
    const attempt: SendAttempt = async () => {
      started.set(iteration, (started.get(iteration) ?? 0) + 1);
      all += 1;
      return SUCCESS;
    };
    const carillon = await testService(t, { deps: { sendAttempt: attempt } });
    const owner = await carillon.createAccount('owner.test');
    await insertHooks(carillon, owner, ACCOUNT_LIMIT);
    const next = () => {
      iteration += 1;
      if (all < ACCOUNT_LIMIT) setImmediate(next);
    };
    next();
    await owner.carillon.events.create(event);
    await eventually(
      () => all,
      (delivered) => delivered === ACCOUNT_LIMIT,
    );
    const busiest = Math.max(...started.values());
    assert.ok(busiest < ACCOUNT_LIMIT / 4, `${busiest} started in one iteration`);
  });

  test("C22 C23 hook queues that end while they wait for their account's limit do not block the others", async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, { deps: { sendAttempt: targets.attempt } });
    const hostile = await carillon.createAccount('hostile.test');
    const hookIds = await insertHooks(carillon, hostile, ACCOUNT_LIMIT + 20);
    await hostile.carillon.events.create(event);
    await eventually(
      () => targets.hanging.size,
      (size) => size === ACCOUNT_LIMIT,
    );
    // Delete the hooks of the first ten waiting queues.
    const waiting = hookIds.filter((_, number) => !targets.started.includes(`http://hostile.test/${number}`));
    for (const id of waiting.slice(0, 10)) await hostile.carillon.hooks.delete(String(id));
    targets.release(1);
    await eventually(
      () => targets.started.length,
      (length) => length === ACCOUNT_LIMIT + 1,
    );
    targets.release(9);
    await eventually(
      () => targets.started.length,
      (length) => length === ACCOUNT_LIMIT + 10,
    );
    targets.release(ACCOUNT_LIMIT);
    assert.equal(new Set(targets.started).size, ACCOUNT_LIMIT + 10);
  });

  test('C22 all accounts share one concurrency limit per host, hooks are served round-robin, and other hosts are not affected', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, {
      options: { maxAttemptsPerHost: '10' },
      deps: { sendAttempt: targets.attempt },
    });
    const people: ApiUser[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const one = await carillon.createAccount(`${name}.test`);
      people.push(one);
      // The hooks of all four accounts have the same host.
      await insertHooks(carillon, { ...one, domain: `hostile.test/${name}` }, 20);
    }
    const healthy = await carillon.createAccount('healthy.test');
    await insertHooks(carillon, healthy, 1);

    for (const one of people) await one.carillon.events.create(event);
    await eventually(
      () => targets.hanging.size,
      (size) => size >= 10,
    );
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.started.includes('http://healthy.test/0'),
      (delivered) => delivered,
    );
    assert.equal(targets.hanging.size, 10, 'exactly its concurrency limit');
    // Create a second event for each account: queues that have already been served wait behind the other queues.
    for (const one of people) await one.carillon.events.create(event);
    await eventually(
      () => {
        targets.release(5);
        return new Set(targets.started).size;
      },
      (hooks) => hooks === 81,
      20_000,
    );
    const hostile = targets.started.filter((target) => target.includes('hostile'));
    // The ten queues that started first may start twice, because they waited again before other queues were served.
    assert.equal(new Set(hostile.slice(0, 90)).size, 80, 'each hook once before any is served a third time');
    await eventually(
      () => {
        targets.release(10);
        return targets.started.length;
      },
      (length) => length === 161,
      20_000,
    );
    targets.release(10);
    assert.equal(targets.maxHanging, 10);
  });
}

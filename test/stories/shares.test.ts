import assert from 'node:assert/strict';
import type { Outcome } from '../../src/delivery/dispatcher/attempt-outcome.ts';
import type { Attempt } from '../../src/delivery/transport/attempt.ts';
import { AccountWrite } from '../../src/store/account-scope.ts';
import { eventually } from '../kit/eventually.ts';
import type { Person, TestService } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** More hanging targets than there are slots in all. */
  const TARGETS = 2_100;
  const SHARE = 500;
  /** Of all that are not known to answer. */
  const ON_TRIAL = 1_000;

  const TOLD: Outcome = { kind: 'answered', status: 200, ms: 1 };
  const UNSUBSCRIBED: Outcome = { kind: 'answered', status: 401, ms: 1 };

  /** Stands in for the network: the targets of the hostile account hang until they are let go, the others answer. */
  function hangingTargets() {
    const hanging = new Map<string, (outcome: Outcome) => void>();
    const begun: string[] = [];
    let most = 0;
    const attempt: Attempt = ({ target, signal }) => {
      begun.push(target);
      if (!target.includes('hostile')) return Promise.resolve(TOLD);
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      const end = (outcome: Outcome) => {
        hanging.delete(target);
        resolve(outcome);
      };
      hanging.set(target, end);
      signal.addEventListener('abort', () => end({ kind: 'ours', fault: 'stopped', ms: 1 }));
      most = Math.max(most, hanging.size);
      return promise;
    };
    return {
      attempt,
      begun: begun as readonly string[],
      hanging,
      get most() {
        return most;
      },
      letGo(count: number, outcome = TOLD) {
        for (const answer of [...hanging.values()].slice(0, count)) answer(outcome);
      },
    };
  }

  /** Hooks straight into the database; as many by HTTP would take their time. */
  async function subscribe(carillon: TestService, who: Person, count: number): Promise<number[]> {
    return carillon.store.write(async (tx) => {
      const { account_id } = await tx.queries
        .selectFrom('users')
        .select('account_id')
        .where('user_id', '=', Number(who.userId))
        .executeTakeFirstOrThrow();
      const write = new AccountWrite(tx, account_id, Date.now());
      const hookIds: number[] = [];
      for (let number = 0; number < count; number += 1) {
        const { hook_id } = await write.insertRow('hooks', {
          user_id: Number(who.userId),
          kind: 'new_event',
          target: `http://${who.domain}/${number}`,
          date_created: write.now,
          due_at: null,
          retry_delivery_id: null,
          date_ended: null,
          ended_position: null,
        });
        hookIds.push(hook_id);
      }
      return hookIds;
    });
  }

  test('C22 an account whose targets all hang leaves slots to the others, and each of its own lanes gets its turn', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, { ports: { attempt: targets.attempt } });
    const hostile = await carillon.account('hostile.test');
    const healthy = await carillon.account('healthy.test');
    await subscribe(carillon, hostile, TARGETS);
    await subscribe(carillon, healthy, 1);

    await hostile.carillon.events.create(event);
    await eventually(
      () => targets.hanging.size,
      (size) => size >= SHARE,
    );
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.begun.includes('http://healthy.test/0'),
      (told) => told,
    );
    assert.equal(targets.hanging.size, SHARE, 'its share, and no more');

    // One comes back, with a 200 or for ever: one that waited goes out.
    for (const outcome of [TOLD, UNSUBSCRIBED]) {
      const before = targets.begun.length;
      targets.letGo(1, outcome);
      await eventually(
        () => targets.begun.length,
        (length) => length > before,
      );
      assert.equal(targets.hanging.size, SHARE);
    }

    await eventually(
      () => {
        targets.letGo(SHARE);
        return targets.begun.length;
      },
      (length) => length === TARGETS + 1,
      20_000,
    );
    targets.letGo(SHARE);
    assert.equal(new Set(targets.begun).size, TARGETS + 1, 'each once');
    assert.equal(targets.most, SHARE);
    await eventually(
      () => carillon.store.read.selectFrom('finalized_deliveries').select('delivery_id').execute(),
      (rows) => rows.length === TARGETS,
    );
  });

  test('C22 however many accounts have targets that hang, those that have answered are told at once, and a new one in its turn', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, { ports: { attempt: targets.attempt } });
    const healthy = await carillon.account('healthy.test');
    await subscribe(carillon, healthy, 1);
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.begun.length,
      (begun) => begun === 1,
    );
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const hostile = await carillon.account(`${name}.hostile.test`);
      await subscribe(carillon, hostile, SHARE);
      await hostile.carillon.events.create(event);
    }
    await eventually(
      () => targets.hanging.size,
      (size) => size >= ON_TRIAL,
    );

    const told = targets.begun.length;
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.begun.slice(told).includes('http://healthy.test/0'),
      (again) => again,
    );
    const stranger = await carillon.account('stranger.test');
    await subscribe(carillon, stranger, 1);
    await stranger.carillon.events.create(event);
    await eventually(
      () =>
        carillon.store.read
          .selectFrom('pending_deliveries')
          .select('delivery_id')
          .where('kind', '=', 'new_event')
          .execute(),
      (rows) => rows.length >= 5 * SHARE + 1,
    );
    assert.equal(targets.hanging.size, ON_TRIAL, 'the share of those that are not known to answer, and no more');
    assert.ok(!targets.begun.includes('http://stranger.test/0'), 'nor is it known yet');
    // Each account has one turn before any has a second: it does not wait for the 1,500 that are in line before it.
    let ended = 0;
    await eventually(
      () => {
        targets.letGo(1);
        ended += 1;
        return targets.begun.includes('http://stranger.test/0');
      },
      (told) => told,
    );
    assert.ok(ended < 100, `after ${ended} turns`);
    assert.equal(targets.most, ON_TRIAL);
  });

  test('C22 however many hooks are told of one change, a handful of attempts begins in each turn, and callers are heard in between', async (t) => {
    let turn = 0;
    const begun = new Map<number, number>();
    let all = 0;
    const attempt: Attempt = async () => {
      begun.set(turn, (begun.get(turn) ?? 0) + 1);
      all += 1;
      return TOLD;
    };
    const carillon = await testService(t, { ports: { attempt } });
    const owner = await carillon.account('owner.test');
    await subscribe(carillon, owner, SHARE);
    const next = () => {
      turn += 1;
      if (all < SHARE) setImmediate(next);
    };
    next();
    await owner.carillon.events.create(event);
    await eventually(
      () => all,
      (told) => told === SHARE,
    );
    const most = Math.max(...begun.values());
    assert.ok(most < SHARE / 4, `${most} began in one turn`);
  });

  test('C22 C23 lanes that end while they wait for their account’s share are not in the way of the others', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, { ports: { attempt: targets.attempt } });
    const hostile = await carillon.account('hostile.test');
    const hookIds = await subscribe(carillon, hostile, SHARE + 20);
    await hostile.carillon.events.create(event);
    await eventually(
      () => targets.hanging.size,
      (size) => size === SHARE,
    );
    // The first ten of those that wait.
    const waiting = hookIds.filter((_, number) => !targets.begun.includes(`http://hostile.test/${number}`));
    for (const id of waiting.slice(0, 10)) await hostile.carillon.hooks.delete(String(id));
    targets.letGo(1);
    await eventually(
      () => targets.begun.length,
      (length) => length === SHARE + 1,
    );
    targets.letGo(9);
    await eventually(
      () => targets.begun.length,
      (length) => length === SHARE + 10,
    );
    targets.letGo(SHARE);
    assert.equal(new Set(targets.begun).size, SHARE + 10);
  });

  test('C22 all accounts together have no more in flight to one host than its share, each hook in its turn, and other hosts do not notice', async (t) => {
    const targets = hangingTargets();
    const carillon = await testService(t, {
      options: { maxAttemptsPerHost: '10' },
      ports: { attempt: targets.attempt },
    });
    const people: Person[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const one = await carillon.account(`${name}.test`);
      people.push(one);
      // One host, whatever stands behind it.
      await subscribe(carillon, { ...one, domain: `hostile.test/${name}` }, 20);
    }
    const healthy = await carillon.account('healthy.test');
    await subscribe(carillon, healthy, 1);

    for (const one of people) await one.carillon.events.create(event);
    await eventually(
      () => targets.hanging.size,
      (size) => size >= 10,
    );
    await healthy.carillon.events.create(event);
    await eventually(
      () => targets.begun.includes('http://healthy.test/0'),
      (told) => told,
    );
    assert.equal(targets.hanging.size, 10, 'its share, and no more');
    // A second one for each: whoever has had a turn comes behind those that wait for theirs.
    for (const one of people) await one.carillon.events.create(event);
    await eventually(
      () => {
        targets.letGo(5);
        return new Set(targets.begun).size;
      },
      (hooks) => hooks === 81,
      20_000,
    );
    const hostile = targets.begun.filter((target) => target.includes('hostile'));
    // The ten that began first were in line once more before the others came.
    assert.equal(new Set(hostile.slice(0, 90)).size, 80, 'each hook once before any has its third turn');
    await eventually(
      () => {
        targets.letGo(10);
        return targets.begun.length;
      },
      (length) => length === 161,
      20_000,
    );
    targets.letGo(10);
    assert.equal(targets.most, 10);
  });
}

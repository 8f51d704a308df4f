import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { sql } from 'kysely';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { AttemptOutcome } from '../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../src/delivery/transport/attempt.ts';
import { withRowLocks } from '../../src/store/prepared-queries.ts';
import { atEnd } from '../kit/cleanup.ts';
import { openStoreAt } from '../kit/database/database.ts';
import { eventually } from '../kit/eventually.ts';
import { readLeaseOwners, readPendingDeliveryIds, readRegisteredNodeIds, userAtNode } from '../kit/service/nodes.ts';
import type { TestService } from '../kit/service/service.ts';
import { sharedStores } from '../kit/service/stores.ts';

const HOOKS = 40;
const EVENTS = 12;
const CHANGES = 6;

/** The clock of heartbeats runs this many times faster than real time, so that a silent node is evicted sooner. */
const HEARTBEAT_SPEED = 10;

const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };
const answered = (status: number): AttemptOutcome => ({ kind: 'answered', status, durationMs: 1 });

/**
 * Generates the outcomes of the attempts to a target (after the last one, 200) and its response times in milliseconds.
 */
const targetScript = fc.record({
  outcomes: fc.array(
    fc.constantFrom<AttemptOutcome>(
      ...Array.from({ length: 8 }, () => answered(200)),
      answered(500),
      answered(204),
      answered(410),
      answered(401),
      { kind: 'failed', cause: 'timeout', durationMs: 1 },
      { kind: 'local_error', code: 'no_resolver', durationMs: 1 },
    ),
    { minLength: 4, maxLength: 16 },
  ),
  // Some attempts end only after another node has leased the hook queue.
  takesMs: fc.array(fc.oneof({ weight: 5, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.constant(1_200) }), {
    minLength: 1,
    maxLength: 5,
  }),
});

type TargetScript = { outcomes: AttemptOutcome[]; takesMs: number[] };

/** Creates a real clock whose timers can be paused, like in a paused process. Attempts in flight continue. */
function pausableRealClock(): { realClock: Clock; pause(): void; resume(): void } {
  let isPaused = false;
  let heldTimers: (() => void)[] = [];
  return {
    realClock: {
      now: systemClock.now,
      monotonic: () => systemClock.monotonic() * HEARTBEAT_SPEED,
      after: (waitMs, run) =>
        systemClock.after(waitMs / HEARTBEAT_SPEED, () => void (isPaused ? heldTimers.push(run) : run())),
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      const due = heldTimers;
      heldTimers = [];
      for (const run of due) run();
    },
  };
}

/** Simulates targets that follow their scripts, for the attempts of all nodes. */
function createScriptedTargets(scripts: readonly TargetScript[]): {
  attempt: SendAttempt;
  started: readonly { hook: number; at: number }[];
} {
  const started: { hook: number; at: number }[] = [];
  const counts = new Map<number, number>();
  return {
    started,
    async attempt({ target, signal, onBeforeSend }) {
      const hook = Number(new URL(target).pathname.slice(1));
      const count = counts.get(hook) ?? 0;
      counts.set(hook, count + 1);
      started.push({ hook, at: Date.now() });
      const { outcomes, takesMs } = scripts[hook] ?? { outcomes: [], takesMs: [] };
      onBeforeSend?.();
      if (signal.aborted) return { kind: 'local_error', code: 'stopped', durationMs: 0 };
      await wait(takesMs[count % takesMs.length] ?? 0);
      return outcomes[count] ?? answered(200);
    },
  };
}

async function countEndedHooks({ baseUrl }: TestService): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  const counts = [...text.matchAll(/^carillon_hooks_ended_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
  return counts.reduce((sum, count) => sum + count, 0);
}

for (const { test, testService, database: newDatabase } of sharedStores) {
  type Node = TestService & { pause(): void; resume(): void };

  async function startNode(t: TestContext, database: string, attempt: SendAttempt): Promise<Node> {
    const { realClock, ...controls } = pausableRealClock();
    const options = { retryWaits: '20ms,40ms' };
    return { ...(await testService(t, { database, options, deps: { sendAttempt: attempt, realClock } })), ...controls };
  }

  /** Checks the state of each hook: it must follow from its attempts, in the order in which they were stored. */
  async function check(t: TestContext, database: string, started: readonly { hook: number; at: number }[]) {
    const { read } = await openStoreAt(t, database, { openAs: 'command' });
    const hooks = await read.selectFrom('hooks').selectAll().orderBy('hook_id').execute();
    const attempts = await read.selectFrom('attempts').selectAll().orderBy('attempt_id').execute();
    const audit = await read.selectFrom('audit').selectAll().where('action', '=', 'hook.ended').execute();
    const of = Map.groupBy(attempts, (one) => one.hook_id);
    let fenced = 0;
    for (const hook of hooks) {
      const own = of.get(hook.hook_id) ?? [];
      const attemptSummary = JSON.stringify(own.map(({ outcome, counted, reason }) => ({ outcome, counted, reason })));
      let failures = 0;
      let reason = '';
      for (const one of own) {
        if (/claimed again or restored meanwhile/.test(one.reason)) fenced += 1;
        else if (one.reason === 'answered 200: delivered' && reason === '') failures = 0;
        else if (one.reason.startsWith('answered 401') && reason === '') reason = 'answered_401';
        else if (one.counted === 1 && reason === '') {
          failures += 1;
          // The failures of a hook are numbered without gaps and repetitions.
          assert.match(one.reason, new RegExp(`^failure ${failures} of 3`), attemptSummary);
          if (failures === 3) reason = 'three_failures';
        }
      }
      assert.deepEqual(
        [hook.ended_reason, hook.failures],
        [reason, reason === 'three_failures' ? 3 : failures],
        attemptSummary,
      );
      assert.equal(audit.filter((entry) => entry.subject === `hook ${hook.hook_id}`).length, reason === '' ? 0 : 1);
      const path = Number(new URL(hook.target).pathname.slice(1));
      const after = started.filter(
        (one) => one.hook === path && one.at > (hook.date_ended ?? Number.POSITIVE_INFINITY),
      );
      assert.deepEqual(after, [], 'an attempt began after the end');
    }
    return { ended: hooks.filter((hook) => hook.date_ended !== null).length, fenced, attempts: attempts.length };
  }

  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

  async function run(
    t: TestContext,
    handOver: (nodes: Node[], database: string, attempt: SendAttempt) => Promise<void>,
  ) {
    t.diagnostic(`SEED=${seed}`);
    const scripts = fc.sample(targetScript, { numRuns: HOOKS, seed });
    const { attempt, started } = createScriptedTargets(scripts);
    const database = await newDatabase(t);
    const nodes = [await startNode(t, database, attempt), await startNode(t, database, attempt)];
    const [first] = nodes;
    if (first === undefined) throw new Error('no node');
    const owner = await first.createAccount('acme.test');
    const create = (index: number) => {
      const node = nodes[index % nodes.length] ?? first;
      return userAtNode(node, owner).carillon;
    };
    for (let index = 0; index < HOOKS; index += 1) {
      await create(index).hooks.create({ target_url: `http://127.0.0.1:9/${index}`, event: 'new_event' });
    }
    for (let round = 0; round < CHANGES; round += 1) {
      await Promise.all(Array.from({ length: EVENTS / CHANGES }, (_, index) => create(index).events.create(event)));
      await handOver(nodes, database, attempt);
    }
    const store = await openStoreAt(t, database, { openAs: 'command' });
    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
      20_000,
    );
    return { nodes, database, started };
  }

  test('C17 C18 when paused nodes lose their hook queues, no failure is lost or counted twice, and each hook ends once', async (t) => {
    let round = 0;
    const { nodes, database, started } = await run(t, async (both) => {
      const node = both[round % 2];
      round += 1;
      const store = await openStoreAt(t, both[0]?.database ?? '', { openAs: 'command' });
      const before = await readRegisteredNodeIds(store);
      node?.pause();
      // The other node evicts the paused node and claims its hook queues, while its attempts still complete.
      await eventually(
        () => readRegisteredNodeIds(store),
        (now) => now.length < before.length,
      );
      node?.resume();
      await eventually(
        () => readRegisteredNodeIds(store),
        (now) => now.length === before.length,
      );
    });
    const { ended, fenced, attempts } = await check(t, database, started);
    const counted = await Promise.all(nodes.map(countEndedHooks));
    assert.equal(
      counted.reduce((sum, count) => sum + count, 0),
      ended,
    );
    assert.ok(ended > 0 && fenced > 0, `${ended} ended, ${fenced} fenced results: the seed must produce both`);
    t.diagnostic(`${HOOKS} hooks, ${attempts} attempts, ${ended} ended, ${fenced} fenced results`);
  });

  test('C17 C18 C20 when nodes that stop hand over their hook queues, no result is fenced, and no failure is lost', async (t) => {
    const { database, started } = await run(t, async (nodes, where, attempt) => {
      const [leaving] = nodes.splice(0, 1);
      nodes.push(await startNode(t, where, attempt));
      await leaving?.stop();
    });
    const { ended, fenced, attempts } = await check(t, database, started);
    assert.equal(fenced, 0, 'results are stored before the lease is released');
    t.diagnostic(`${HOOKS} hooks, ${attempts} attempts, ${ended} ended`);
  });

  test('C18 a stopping node keeps the lease of a hook queue until a failure is stored', async (t) => {
    const database = await newDatabase(t);
    const store = await openStoreAt(t, database, { openAs: 'command' });
    const openAttempts = new Map<string, (outcome: AttemptOutcome) => void>();
    const attempt: SendAttempt = ({ target }) =>
      new Promise((resolve) => openAttempts.set(new URL(target).pathname, resolve));
    const options = { retryWaits: '10s,10s' };
    const stoppingNode = await testService(t, { database, options, deps: { sendAttempt: attempt } });
    const owner = await stoppingNode.createAccount('acme.test');
    const [slow, fails] = ['/slow', '/fails'].map((path) =>
      owner.carillon.hooks.create({ target_url: `http://127.0.0.1:9${path}`, event: 'new_event' }),
    );
    const [slowId = 0, failsId = 0] = (await Promise.all([slow, fails])).map((hook) => Number(hook?.id));
    await owner.carillon.events.create(event);
    await eventually(
      () => openAttempts.size,
      (count) => count === 2,
    );
    const started: string[] = [];
    const other = await testService(t, {
      database,
      options,
      deps: {
        async sendAttempt({ target }) {
          started.push(new URL(target).pathname);
          return answered(200);
        },
      },
    });

    // A row lock delays the first completion batch; the failure is in the next batch.
    const unlock = Promise.withResolvers<void>();
    // Unlock the row even if the test fails, because a service cannot stop while the row is locked.
    atEnd(t, unlock.resolve);
    const isLocked = Promise.withResolvers<void>();
    const lockTransaction = store.write(async (tx) => {
      const slow = tx.queries.selectFrom('hooks').select('hook_id').where('hook_id', '=', slowId);
      await withRowLocks(tx.queries, slow).execute();
      isLocked.resolve();
      await unlock.promise;
    });
    await isLocked.promise;
    openAttempts.get('/slow')?.(answered(200));
    const waiting = sql<{ count: number }>`
      select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(
      async () => (await waiting.execute(store.read)).rows[0]?.count,
      (count) => count === 1,
    );
    openAttempts.get('/fails')?.(answered(500));
    const stopped = stoppingNode.stop();
    // The other node polls for work once a second; it sends five heartbeats in that time.
    const heartbeats = async () => {
      const nodes = await store.read.selectFrom('nodes').select('heartbeat').orderBy('node_id').execute();
      return nodes[1]?.heartbeat ?? 0;
    };
    const before = await heartbeats();
    await eventually(heartbeats, (now) => now >= before + 15, 30_000);
    const { lease_owner } = await store.read
      .selectFrom('hooks')
      .select('lease_owner')
      .where('hook_id', '=', failsId)
      .executeTakeFirstOrThrow();
    assert.equal(lease_owner, (await readRegisteredNodeIds(store))[0], 'the lease is kept until the result is stored');
    unlock.resolve();
    await lockTransaction;
    await stopped;
    const owners = await eventually(
      () => readLeaseOwners(store),
      (all) => (all.get(String(failsId)) ?? 0) !== 0,
    );
    assert.notEqual(owners.get(String(failsId)), lease_owner);
    const { data } = await userAtNode(other, owner).carillon.hooks.list({ state: 'failing' });
    assert.deepEqual(
      data.map((hook) => [hook.id, hook.failures]),
      [[String(failsId), '1']],
    );
    assert.deepEqual(started, [], 'the wait continues at the other node, and nothing is sent twice');
  });
}

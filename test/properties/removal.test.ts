import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { permissions } from '../../src/access.ts';
import type { Attempt, Outcome } from '../../src/delivery/attempt.ts';
import { subscribe } from '../../src/resources/hooks/actions.ts';
import { AccountWrite } from '../../src/store/account.ts';
import { TEST_EPOCH, type TestClock, testClock } from '../harness/clock.ts';
import type { Person, TestService } from '../harness/service.ts';
import { stores } from '../harness/stores.ts';

for (const { test, testService } of stores) {
  /** A thousand scripts in all: so many hooks on one service, so many services. */
  const HOOKS = 100;
  const SERVICES = 10;
  const EVENTS = 6;
  const WAITS_MS = [60_000, 7_200_000] as const;

  const answered = (status: number): Outcome => ({ kind: 'answered', status, ms: 1 });

  /** What targets do; the likelier, the oftener it stands here. */
  const outcome = fc.constantFrom<Outcome>(
    ...Array.from({ length: 6 }, () => answered(200)),
    answered(401),
    answered(204),
    answered(302),
    answered(410),
    answered(500),
    { kind: 'failed', cause: 'timeout', ms: 1 },
    { kind: 'failed', cause: 'refused', ms: 1 },
    { kind: 'ours', fault: 'no_resolver', ms: 1 },
    { kind: 'ours', fault: 'no_file_handle', ms: 1 },
  );

  /** One target: what it does, attempt by attempt and then 200; and which of its attempts it answers next. */
  const script = fc.record({
    outcomes: fc.array(outcome, { minLength: 1, maxLength: 14 }),
    picks: fc.array(fc.nat(7), { minLength: 1, maxLength: 5 }),
  });

  type Script = { outcomes: Outcome[]; picks: number[] };
  type Step = { begins: number; at: number } | { ends: number; outcome: Outcome; at: number };
  type Fate = { reason: string; failures: number; delivered: number };

  /** The contract worked out once more, from what was seen alone: what must have become of a hook. */
  function reckon(steps: readonly Step[]): Fate {
    let failures = 0;
    let failedAt = -1;
    let dueAt = 0;
    let delivered = 0;
    let inFlight = 0;
    let reason = '';
    const begunAt = new Map<number, number>();
    for (const [index, step] of steps.entries()) {
      if ('begins' in step) {
        assert.equal(reason, '', 'an attempt began after the end');
        assert.ok(step.at >= dueAt, 'an attempt began during a wait');
        assert.ok(failures === 0 || inFlight === 0, 'a failing hook has one attempt in flight');
        inFlight += 1;
        assert.ok(inFlight <= 8, 'more than eight in flight');
        begunAt.set(step.begins, index);
        continue;
      }
      inFlight -= 1;
      if (step.outcome.kind === 'ours') continue;
      const status = step.outcome.kind === 'answered' ? step.outcome.status : 0;
      if (reason !== '') {
        // It went out before the end: what was told is told (C20), and changes nothing of the hook.
        if (status === 200) delivered += 1;
        continue;
      }
      const sameBurst = (begunAt.get(step.ends) ?? 0) < failedAt;
      if (status === 200) {
        delivered += 1;
        if (!sameBurst) {
          failures = 0;
          dueAt = 0;
        }
      } else if (status === 401) reason = 'answered_401';
      else if (!sameBurst) {
        failures += 1;
        failedAt = index;
        dueAt = step.at + (WAITS_MS[failures - 1] ?? 0);
        if (failures === 3) reason = 'three_failures';
      }
    }
    return { reason, failures, delivered };
  }

  /** Targets that answer when, and only when, they are told to. */
  class Targets {
    readonly traces: Step[][];
    readonly #scripts: readonly Script[];
    readonly #clock: TestClock;
    readonly #parked = new Map<number, { order: number; outcome: Outcome; resolve: (outcome: Outcome) => void }[]>();

    constructor(scripts: readonly Script[], clock: TestClock) {
      this.#scripts = scripts;
      this.#clock = clock;
      this.traces = scripts.map(() => []);
    }

    readonly attempt: Attempt = ({ target }) => {
      const hook = Number(new URL(target).pathname.slice(1));
      const trace = this.traces[hook] ?? [];
      const order = trace.filter((step) => 'begins' in step).length;
      trace.push({ begins: order, at: this.#clock.now() });
      const next = this.#scripts[hook]?.outcomes[order] ?? answered(200);
      return new Promise((resolve) => {
        const parked = this.#parked.get(hook) ?? [];
        parked.push({ order, outcome: next, resolve });
        this.#parked.set(hook, parked);
      });
    };

    /** Each target answers one of its attempts; says whether there was any. */
    answerOneEach(round: number): boolean {
      const hooks = [...this.#parked];
      for (const [hook, parked] of hooks) {
        const { picks } = this.#scripts[hook] ?? { picks: [0] };
        const [picked] = parked.splice((picks[round % picks.length] ?? 0) % parked.length, 1);
        if (parked.length === 0) this.#parked.delete(hook);
        if (picked === undefined) continue;
        this.traces[hook]?.push({ ends: picked.order, outcome: picked.outcome, at: this.#clock.now() });
        picked.resolve(picked.outcome);
      }
      return hooks.length > 0;
    }
  }

  /** How much is owed to whoever lives. */
  async function everyOwed({ store }: TestService): Promise<number> {
    const owed = await store.read
      .selectFrom('owed')
      .innerJoin('hooks', 'hooks.hook_id', 'owed.hook_id')
      .where('hooks.date_ended', 'is', null)
      .select('owed.delivery_id')
      .execute();
    return owed.length;
  }

  /** Subscribes so many targets to new events in one transaction, since a hundred requests take their time. */
  async function subscribeAll({ store }: TestService, owner: Person, count: number): Promise<string[]> {
    return store.write(async (tx) => {
      const userId = Number(owner.userId);
      const { account_id: accountId } = await tx.queries
        .selectFrom('users')
        .select('account_id')
        .where('user_id', '=', userId)
        .executeTakeFirstOrThrow();
      const caller = {
        accountId,
        userId,
        role: 'owner',
        keyId: 0,
        sessionId: 0,
        permissions: new Set(permissions),
        expiresAt: null,
      } as const;
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const input = { target_url: `http://127.0.0.1:9/${index}`, event: 'new_event' } as const;
        ids.push(String(await subscribe(new AccountWrite(tx, accountId, TEST_EPOCH), caller, input)));
      }
      return ids;
    });
  }

  /** Runs one service against its targets until nothing is owed to anybody who lives. */
  async function run(t: TestContext, scripts: readonly Script[]): Promise<void> {
    const clock = testClock();
    const targets = new Targets(scripts, clock);
    const ports = { clock, attempt: targets.attempt };
    const carillon = await testService(t, { options: { retryWaits: '1m,2h' }, ports });
    const owner = await carillon.account('acme.test');
    const hookIds = await subscribeAll(carillon, owner, scripts.length);
    const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };
    await Promise.all(Array.from({ length: EVENTS }, () => owner.carillon.events.create(event)));

    for (let round = 0; ; round += 1) {
      assert.ok(round < 1_000, 'this never ends');
      // What may begin has begun when a few questions to the database bring nothing more.
      for (let turns = 0; turns < 3; turns += 1) {
        await turn();
        await carillon.store.read.selectFrom('accounts').select('account_id').execute();
      }
      if (targets.answerOneEach(round)) continue;
      if ((await everyOwed(carillon)) === 0) break;
      await clock.advance(1_800_000);
    }

    const { data: hooks } = await owner.carillon.hooks.list();
    const { data: delivered } = await owner.carillon.deliveries.list({ state: 'delivered' });
    for (const [index, id] of hookIds.entries()) {
      const hook = hooks.find((one) => one.id === id);
      const fate: Fate = {
        reason: hook?.ended_reason ?? 'gone',
        failures: Number(hook?.failures),
        delivered: delivered.filter((one) => one.hook_id === id).length,
      };
      const seen = JSON.stringify(targets.traces[index]);
      const reckoned = reckon(targets.traces[index] ?? []);
      assert.deepEqual(fate, reckoned, seen);
      assert.ok(reckoned.reason !== '' || reckoned.delivered === EVENTS, `it lives and was not told of all: ${seen}`);
    }
    await carillon.stop();
  }

  test('C17 C18 C19 a thousand random targets: each hook ends exactly at its third failure in a row or its first 401', async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
    t.diagnostic(`SEED=${seed}`);
    const scripts = fc.sample(script, { numRuns: HOOKS * SERVICES, seed });
    for (let begin = 0; begin < scripts.length; begin += HOOKS) await run(t, scripts.slice(begin, begin + HOOKS));
  });
}

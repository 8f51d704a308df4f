import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Attempt, Outcome } from '../../src/delivery/attempt.ts';
import { testClock } from '../harness/clock.ts';
import { eventually } from '../harness/eventually.ts';
import { testService } from '../harness/service.ts';

/** Scripts of one service, and services: a thousand scripts in all. */
const HOOKS = 100;
const RUNS = 10;
const EVENTS = 6;
const WAITS_MS = [60_000, 7_200_000] as const;

const answered = (status: number): Outcome => ({ kind: 'answered', status, ms: 1 });

/** What targets do, the likelier the oftener it stands here. */
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

/** One target: what it does attempt by attempt, the last one for ever; and in which order it comes to answer. */
const script = fc.record({
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 14 }),
  picks: fc.array(fc.nat(7), { minLength: 1, maxLength: 5 }),
});

type Step = { begins: number; at: number } | { ends: number; outcome: Outcome; at: number };

/** The contract read once more, with a pencil: what must have become of a hook whose attempts went like this. */
function reckon(steps: readonly Step[]): { reason: string; failures: number; delivered: number } {
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
    if (reason !== '' || step.outcome.kind === 'ours') continue;
    const status = step.outcome.kind === 'answered' ? step.outcome.status : 0;
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

test('C17 C18 C19 a thousand random targets: each hook ends exactly at its third failure in a row or its first 401', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(script, { minLength: HOOKS, maxLength: HOOKS }), async (scripts) => {
      const clock = testClock();
      const traces: Step[][] = scripts.map(() => []);
      const parked: { hook: number; order: number; outcome: Outcome; resolve: (outcome: Outcome) => void }[] = [];
      const attempt: Attempt = ({ target }) => {
        const hook = Number(new URL(target).pathname.slice(1));
        const trace = traces[hook] ?? [];
        const order = trace.filter((step) => 'begins' in step).length;
        trace.push({ begins: order, at: clock.now() });
        const outcomes = scripts[hook]?.outcomes ?? [];
        const next = outcomes[Math.min(order, outcomes.length - 1)] ?? answered(200);
        // No target is at fault for ever with what is our doing: the end of a script is always the target's own.
        const isLast = order >= outcomes.length && next.kind === 'ours';
        return new Promise((resolve) => {
          parked.push({ hook, order, outcome: isLast ? answered(500) : next, resolve });
        });
      };
      const cleanups: (() => unknown)[] = [];
      const carillon = await testService(
        { after: (cleanup) => cleanups.unshift(cleanup as () => unknown) },
        { options: { retryWaits: '1m,2h' }, ports: { clock, attempt } },
      );
      try {
        const owner = await carillon.account('acme.test');
        const hooks = await Promise.all(
          scripts.map((_, index) =>
            owner.carillon.hooks.create({ target_url: `http://127.0.0.1:9/${index}`, event: 'new_event' }),
          ),
        );
        const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };
        await Promise.all(Array.from({ length: EVENTS }, () => owner.carillon.events.create(event)));

        const owedAndLive = async () => {
          const { data } = await owner.carillon.hooks.list();
          const live = new Set(data.filter((hook) => hook.state !== 'ended').map((hook) => hook.id));
          const { data: owed } = await owner.carillon.deliveries.list({ state: 'owed' });
          return owed.filter((delivery) => live.has(delivery.hook_id)).length;
        };
        for (let round = 0; ; round += 1) {
          assert.ok(round < 2_000, 'this never ends');
          // Everything that may begin now has begun when nothing more comes about by itself.
          for (let quiet = 0; quiet < 3; quiet += 1) await turn();
          if (parked.length > 0) {
            for (const hook of new Set(parked.map((one) => one.hook))) {
              const mine = parked.filter((one) => one.hook === hook);
              const picks = scripts[hook]?.picks ?? [0];
              const picked = mine[(picks[round % picks.length] ?? 0) % mine.length];
              if (picked === undefined) continue;
              parked.splice(parked.indexOf(picked), 1);
              traces[hook]?.push({ ends: picked.order, outcome: picked.outcome, at: clock.now() });
              picked.resolve(picked.outcome);
            }
          } else if ((await owedAndLive()) > 0) await clock.advance(7_000);
          else break;
        }
        await eventually(owedAndLive, (count) => count === 0);

        const { data: shown } = await owner.carillon.hooks.list();
        const { data: deliveries } = await owner.carillon.deliveries.list({ limit: 1_000, state: 'delivered' });
        for (const [index, { id }] of hooks.entries()) {
          const wanted = reckon(traces[index] ?? []);
          const hook = shown.find((one) => one.id === id);
          assert.deepEqual(
            {
              reason: hook?.ended_reason,
              failures: Number(hook?.failures),
              delivered: deliveries.filter((one) => one.hook_id === id).length,
            },
            wanted,
            JSON.stringify({ index, trace: traces[index] }),
          );
          assert.ok(wanted.reason !== '' || wanted.delivered === EVENTS, 'live, and something was never told');
        }
      } finally {
        for (const one of parked) one.resolve({ kind: 'ours', fault: 'stopped', ms: 0 });
        for (const cleanup of cleanups) await cleanup();
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  t.diagnostic(`${RUNS * HOOKS} scripts`);
});

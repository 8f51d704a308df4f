import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Attempt } from '../../src/delivery/transport/attempt.ts';
import { eventually } from '../kit/eventually.ts';
import { repeatedIn } from '../kit/load.ts';
import { personAt } from '../kit/nodes.ts';
import type { Person, TestService } from '../kit/service.ts';
import { isTaken } from '../kit/signed.ts';
import { shared, stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';
import { tracedAttempt } from '../kit/traced.ts';

const HOOKS = 4;
const ROUNDS = 9;
const MAX_EVENTS = 150;

const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

/** What a hook is signed by, from an answer on; undefined for nothing. */
type State = { readonly secret: string | undefined; readonly answeredAt: number };

/** An attempt, with what signs it. */
type Made = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly begunAt: number;
  dialledAt: number | undefined;
};

/** The real way out, and everything that took it. */
function recording(): { readonly attempt: Attempt; readonly made: readonly Made[] } {
  const { attempt: real } = tracedAttempt();
  const made: Made[] = [];
  return {
    made,
    attempt(order) {
      const { deliveryId, body, signature = [] } = order;
      const pairs = Array.from({ length: signature.length / 2 }, (_, pair) => signature.slice(2 * pair, 2 * pair + 2));
      const headers = { ...Object.fromEntries(pairs), 'webhook-id': deliveryId };
      const path = new URL(order.target).pathname;
      const one: Made = { path, headers, body, begunAt: performance.now(), dialledAt: undefined };
      made.push(one);
      const onDialled = () => {
        one.dialledAt = performance.now();
        order.onDialled?.();
      };
      return real({ ...order, onDialled });
    },
  };
}

/** The newest state that an attempt is signed as; -1 for none of them. */
function stateOf(states: readonly State[], one: Made): number {
  const isSigned = one.headers['webhook-signature'] !== undefined;
  return states.findLastIndex(({ secret }) => (secret === undefined ? !isSigned : isSigned && isTaken(secret, one)));
}

/** Hooks are signed anew, and not, by turns through each of these, under load; answers nothing that contradicts X8. */
async function rotateUnderLoad(
  t: TestContext,
  people: readonly [Person, ...Person[]],
  made: readonly Made[],
  stop: () => Promise<unknown>,
): Promise<void> {
  const target = await startTarget(t);
  const [first] = people;
  const hooks = await Promise.all(
    Array.from({ length: HOOKS }, async (_, index) => {
      const path = `/${index}`;
      const { id } = await first.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' });
      return { id, path, states: [{ secret: undefined, answeredAt: 0 }] as State[] };
    }),
  );
  let created = 0;
  let rotating = true;
  const writers = people.map(async ({ carillon }) => {
    while (rotating || created < MAX_EVENTS) {
      await carillon.events.create(event);
      created += 1;
    }
  });
  await Promise.all(
    hooks.map(async ({ id, path, states }, index) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = made.length;
        await eventually(
          () => made.slice(before).some((one) => one.path === path),
          (hasBegun) => hasBegun,
        );
        const { hooks } = (people[(round + index) % people.length] ?? first).carillon;
        const isOff = round % 3 === 2;
        const secret = isOff ? undefined : (await hooks.createSecret(id, { overlap: 0 })).secret;
        if (isOff) await hooks.deleteSecret(id);
        states.push({ secret, answeredAt: performance.now() });
      }
    }),
  );
  rotating = false;
  await Promise.all(writers);
  await target.arrived(created * HOOKS);
  await stop();

  assert.equal(target.received.length, created * HOOKS);
  assert.deepEqual(repeatedIn(target), []);
  const seen = new Set<string>();
  for (const { path, states } of hooks) {
    const inForceAt = (moment: number) => states.findLastIndex(({ answeredAt }) => answeredAt <= moment);
    for (const one of made.filter((each) => each.path === path)) {
      const state = stateOf(states, one);
      assert.ok(state >= inForceAt(one.begunAt), `${path}: begun as ${state}, ${inForceAt(one.begunAt)} was in force`);
      if (one.dialledAt === undefined) continue;
      const wanted = inForceAt(one.dialledAt);
      assert.ok(state >= wanted, `${path}: went out as ${state}, ${wanted} was in force`);
      seen.add(`${path} ${states[state]?.secret ?? 'unsigned'}`);
    }
  }
  t.diagnostic(
    `${created} events, ${target.received.length} notifications, ${HOOKS * ROUNDS} turns, ${seen.size} seen`,
  );
  assert.ok(seen.size >= HOOKS * 5, 'each hook went out under most of its secrets');
}

for (const { test, testService } of stores) {
  test(`X8 ${HOOKS} hooks get new secrets and none in the midst of 600 notifications: after each answer nothing goes out as before`, async (t) => {
    const { attempt, made } = recording();
    const carillon = await testService(t, { ports: { attempt } });
    await rotateUnderLoad(t, [await carillon.account('acme.test')], made, () => carillon.stop());
  });
}

for (const { test, testService, database: newDatabase } of shared) {
  for (const listen of ['on', 'off'] as const) {
    test(`X8 the same through two nodes, LISTEN ${listen}: whichever has the lane, and whichever is asked`, async (t) => {
      const database = `${await newDatabase(t)}?listen=${listen}`;
      const { attempt, made } = recording();
      const one: TestService = await testService(t, { database, ports: { attempt } });
      const other: TestService = await testService(t, { database, ports: { attempt } });
      const here = await one.account('acme.test');
      await rotateUnderLoad(t, [here, personAt(other, here)], made, () => Promise.all([one.stop(), other.stop()]));
    });
  }
}

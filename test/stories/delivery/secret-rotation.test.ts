import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { findDuplicateDeliveryIds } from '../../kit/service/load.ts';
import { userAtNode } from '../../kit/service/nodes.ts';
import { isAccepted } from '../../kit/service/receiver.ts';
import type { ApiUser, TestService } from '../../kit/service/service.ts';
import { everyStore, sharedStores } from '../../kit/service/stores.ts';
import { createTracedAttempt } from '../../kit/service/traced-attempts.ts';

const HOOKS = 4;
const ROUNDS = 9;
const MAX_EVENTS = 150;

const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

/** The secret of a hook since a response; `secret` is undefined if signing is off. */
type SigningState = { readonly secret: string | undefined; readonly respondedAt: number };

/** A recorded attempt. Its headers contain the signature, if there is one. */
type SignedAttempt = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly startedAt: number;
  dialledAt: number | undefined;
};

/** Returns the real HTTP attempt, and the list in which it records all attempts. */
function createRecordingAttempt(): { readonly attempt: SendAttempt; readonly attempts: readonly SignedAttempt[] } {
  const { attempt: realAttempt } = createTracedAttempt();
  const attempts: SignedAttempt[] = [];
  return {
    attempts,
    attempt(order) {
      const { deliveryId, body, headers: list = [] } = order;
      const pairs = Array.from({ length: list.length / 2 }, (_, pair) => list.slice(2 * pair, 2 * pair + 2));
      const headers = { ...Object.fromEntries(pairs), 'webhook-id': deliveryId };
      const path = new URL(order.target).pathname;
      const one: SignedAttempt = { path, headers, body, startedAt: performance.now(), dialledAt: undefined };
      attempts.push(one);
      const onBeforeSend = () => {
        one.dialledAt = performance.now();
        order.onBeforeSend?.();
      };
      return realAttempt({ ...order, onBeforeSend });
    },
  };
}

/** Returns the index of the newest state that matches the signature of an attempt; -1 if none matches. */
function stateIndexOf(states: readonly SigningState[], one: SignedAttempt): number {
  const isSigned = one.headers['webhook-signature'] !== undefined;
  return states.findLastIndex(({ secret }) => (secret === undefined ? !isSigned : isSigned && isAccepted(secret, one)));
}

/** Rotates the secrets of hooks under load, through all nodes in turn, and asserts that no attempt contradicts X8. */
async function rotateUnderLoad(
  t: TestContext,
  people: readonly [ApiUser, ...ApiUser[]],
  attempts: readonly SignedAttempt[],
  stop: () => Promise<unknown>,
): Promise<void> {
  const target = await startTarget(t);
  const [first] = people;
  const hooks = await Promise.all(
    Array.from({ length: HOOKS }, async (_, index) => {
      const path = `/${index}`;
      const { id } = await first.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' });
      return { id, path, states: [{ secret: undefined, respondedAt: 0 }] as SigningState[] };
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
        const before = attempts.length;
        await eventually(
          () => attempts.slice(before).some((one) => one.path === path),
          (hasBegun) => hasBegun,
        );
        const { hooks } = (people[(round + index) % people.length] ?? first).carillon;
        const isOff = round % 3 === 2;
        const secret = isOff ? undefined : (await hooks.createSecret(id, { overlap: 0 })).secret;
        if (isOff) await hooks.deleteSecret(id);
        states.push({ secret, respondedAt: performance.now() });
      }
    }),
  );
  rotating = false;
  await Promise.all(writers);
  await target.waitForArrivals(created * HOOKS);
  await stop();

  assert.equal(target.received.length, created * HOOKS);
  assert.deepEqual(findDuplicateDeliveryIds(target), []);
  const observed = new Set<string>();
  for (const { path, states } of hooks) {
    const currentAt = (moment: number) => states.findLastIndex(({ respondedAt }) => respondedAt <= moment);
    for (const one of attempts.filter((each) => each.path === path)) {
      const state = stateIndexOf(states, one);
      assert.ok(
        state >= currentAt(one.startedAt),
        `${path}: started with ${state}, ${currentAt(one.startedAt)} was current`,
      );
      if (one.dialledAt === undefined) continue;
      const wanted = currentAt(one.dialledAt);
      assert.ok(state >= wanted, `${path}: sent with ${state}, ${wanted} was current`);
      observed.add(`${path} ${states[state]?.secret ?? 'unsigned'}`);
    }
  }
  t.diagnostic(
    `${created} events, ${target.received.length} notifications, ${HOOKS * ROUNDS} rotations, ${observed.size} observed`,
  );
  assert.ok(observed.size >= HOOKS * 5, 'attempts of each hook used most of its secrets');
}

for (const { test, testService } of everyStore) {
  test(`X8 when ${HOOKS} hooks change their secrets during 600 notifications, no attempt after a response uses the previous state`, async (t) => {
    const { attempt, attempts } = createRecordingAttempt();
    const carillon = await testService(t, { deps: { sendAttempt: attempt } });
    await rotateUnderLoad(t, [await carillon.createAccount('acme.test')], attempts, () => carillon.stop());
  });
}

for (const { test, testService, database: newDatabase } of sharedStores) {
  for (const listen of ['on', 'off'] as const) {
    test(`X8 the same with two nodes, LISTEN ${listen}: for any owner of the hook queue, and any node that handles the request`, async (t) => {
      const database = `${await newDatabase(t)}?listen=${listen}`;
      const { attempt, attempts } = createRecordingAttempt();
      const one: TestService = await testService(t, { database, deps: { sendAttempt: attempt } });
      const other: TestService = await testService(t, { database, deps: { sendAttempt: attempt } });
      const here = await one.createAccount('acme.test');
      await rotateUnderLoad(t, [here, userAtNode(other, here)], attempts, () =>
        Promise.all([one.stop(), other.stop()]),
      );
    });
  }
}

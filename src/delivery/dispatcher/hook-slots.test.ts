import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HookQueue } from './hook-queue.ts';
import { HookSlots } from './hook-slots.ts';

const createQueue = (hookId: number) =>
  new HookQueue(
    {
      hookId,
      accountId: 1,
      target: 'https://example.com/',
      generation: 1,
      failures: 0,
      dueAt: null,
      retryDeliveryId: null,
      lastOutcome: '',
      settings: { secrets: [], headers: [], isEnabled: true },
    },
    0,
    1,
  );

/** Creates slots in which hook 1 is in the given state. */
function createSlots(state: 'no slot' | 'unclaimed' | 'claiming' | 'foreign' | 'leased'): HookSlots {
  const slots = new HookSlots();
  if (state === 'no slot') return slots;
  slots.onDeliveriesCommitted(1);
  if (state === 'unclaimed') return slots;
  slots.beginClaim(10);
  if (state === 'foreign') slots.finishClaim([1], new Set());
  if (state === 'leased') {
    slots.finishClaim([1], new Set([1]));
    slots.addLeased(createQueue(1));
  }
  return slots;
}

const claimedSlot = { hookId: 1, areSettingsStale: false };

test('a commit with deliveries makes only an unknown hook unclaimed', () => {
  const isUnclaimedAfterCommit = (state: Parameters<typeof createSlots>[0]) => {
    const slots = createSlots(state);
    slots.onDeliveriesCommitted(1);
    return slots.hasUnclaimed;
  };
  assert.deepEqual((['no slot', 'unclaimed', 'claiming', 'foreign', 'leased'] as const).map(isUnclaimedAfterCommit), [
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('work that the poll finds makes a foreign hook unclaimed, and forgotten foreign hooks are claimed after a commit', () => {
  const polled = createSlots('foreign');
  polled.onWorkFound(1);
  assert.deepEqual(polled.beginClaim(10), [1]);
  const forgotten = createSlots('foreign');
  forgotten.forgetForeign();
  forgotten.onDeliveriesCommitted(1);
  assert.deepEqual(forgotten.beginClaim(10), [1]);
});

test('a claim that misses a hook whose lease may have been released meanwhile is repeated', () => {
  const slots = createSlots('claiming');
  slots.onWorkFound(1);
  assert.equal(slots.hasUnclaimed, false);
  assert.deepEqual(slots.finishClaim([1], new Set()), []);
  assert.deepEqual(slots.beginClaim(10), [1]);
  assert.deepEqual(slots.finishClaim([1], new Set()), []);
  assert.equal(slots.isKnown(1), false);
});

test('C13 a hook that ends during its claim is not leased, and is claimed again if it has work again', () => {
  const slots = createSlots('claiming');
  slots.remove(1);
  assert.deepEqual(slots.finishClaim([1], new Set([1])), []);
  assert.deepEqual([slots.isKnown(1), slots.hasUnclaimed], [false, false]);
  const restored = createSlots('claiming');
  restored.remove(1);
  restored.onWorkFound(1);
  assert.deepEqual(restored.finishClaim([1], new Set([1])), []);
  assert.deepEqual(restored.beginClaim(10), [1]);
});

test('C20 after an eviction the result of the running claim is ignored, and the hooks are claimed again', () => {
  const slots = createSlots('claiming');
  slots.onEvicted();
  assert.deepEqual(slots.finishClaim([1], new Set([1])), []);
  assert.deepEqual(slots.beginClaim(10), [1]);
  assert.deepEqual(slots.finishClaim([1], new Set([1])), [claimedSlot]);
});

test('X8 secrets that are rotated during a claim are stale, and those rotated before it are not', () => {
  const slots = createSlots('unclaimed');
  slots.onSettingsChanged(1);
  slots.beginClaim(10);
  assert.deepEqual(slots.finishClaim([1], new Set([1])), [claimedSlot]);
  const rotated = createSlots('claiming');
  rotated.onSettingsChanged(1);
  assert.deepEqual(rotated.finishClaim([1], new Set([1])), [{ hookId: 1, areSettingsStale: true }]);
});

test('hooks are claimed in order and in batches, and those of a failed claim after all others', () => {
  const slots = new HookSlots();
  for (const hookId of [1, 2, 3]) slots.onWorkFound(hookId);
  assert.deepEqual(slots.beginClaim(2), [1, 2]);
  slots.onClaimFailed([1, 2]);
  assert.deepEqual(slots.beginClaim(10), [3, 1, 2]);
});

test('a removed queue is not counted and not found', () => {
  const slots = createSlots('leased');
  const queue = slots.findQueue(1);
  assert.deepEqual([slots.leasedCount, [...slots.queues()], queue?.hookId], [1, [queue], 1]);
  assert.equal(slots.remove(1), queue);
  assert.deepEqual([slots.leasedCount, slots.findQueue(1), slots.remove(1)], [0, undefined, undefined]);
});

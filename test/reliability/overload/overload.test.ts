import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadResult } from './generator.ts';
import { createLoadRequests, measureRejectionCost } from './load.ts';
import { checkNoise, summarizeOthers } from './noisy-neighbour.ts';
import { checkOverload, costPerRejection, hasRecovered, type Measurements, offerOverload } from './overload.ts';

const answered: LoadResult = {
  byStatus: { 200: 500, 201: 500 },
  withoutRetryAfter: 0,
  locations: ['http://carillon.test/v2/events/1'],
  unanswered: 0,
  unsent: 0,
  times: [],
  p50: 1,
  p99: 2,
  perSecond: 1_000,
};
const kept: Measurements = {
  peak: { answered, cpuMs: 1_000 },
  overload: { answered: { ...answered, byStatus: { ...answered.byStatus, 503: 3_000 } }, cpuMs: 1_000, asked: 4_000 },
  recoveredMs: 300,
  lostRecords: [],
};
const over = (changed: Partial<LoadResult>, used = 1_000): Measurements => ({
  ...kept,
  overload: { asked: 4_000, cpuMs: used, answered: { ...kept.overload.answered, ...changed } },
});

test('R12 low goodput, missing responses, lost records and slow recovery are reported', () => {
  assert.deepEqual(checkOverload(kept), []);
  const wrong: Record<string, Measurements> = {
    '77 % of the peak goodput per CPU second': over({}, 1_300),
    '59 % of the peak goodput per elapsed second': over({ perSecond: 590 }),
    'no request was rejected': over({ byStatus: { 200: 500, 201: 500 } }),
    'unexpected status 500': over({ byStatus: { ...kept.overload.answered.byStatus, 500: 1 } }),
    '7 rejections without Retry-After': over({ withoutRetryAfter: 7 }),
    '2 requests without a response': over({ unanswered: 2 }),
    'only 75 % of the intended load was sent': over({ unsent: 1_000 }),
    'recovered only after 6000 ms': { ...kept, recoveredMs: 6_000 },
    'acknowledged and lost: /v2/events/7': { ...kept, lostRecords: ['/v2/events/7'] },
  };
  for (const [line, seen] of Object.entries(wrong)) assert.deepEqual(checkOverload(seen), [line]);
});

test('R12 if everything is answered, the load is raised to four times the new throughput, at most four times', async () => {
  const serviceOf = (capacity: number) => async (rate: number) => {
    const good = Math.min(rate, capacity);
    const byStatus = { 201: good, ...(rate > good && { 503: rate - good }) };
    return { cpuMs: 1_000, answered: { ...answered, byStatus, perSecond: good } };
  };
  const seen = async (capacity: number, best: number) => {
    const { over, rate, inFull } = await offerOverload(serviceOf(capacity), best);
    return [...inFull.map(({ answered }) => answered.perSecond), `${over.answered.perSecond} of ${rate}`];
  };
  assert.deepEqual(await seen(400, 400), ['400 of 1600']);
  assert.deepEqual(await seen(700, 150), [600, '700 of 2400'], 'the peak was measured while others used the CPUs');
  assert.deepEqual(
    await seen(Number.POSITIVE_INFINITY, 1),
    [4, 16, 64, '256 of 256'],
    'a service that rejects nothing',
  );
});

test('R12 the cost of a rejection is the CPU time beyond that of the successful requests at the peak', () => {
  const used = kept.overload.cpuMs + 150;
  assert.equal(costPerRejection(kept.peak, kept.overload), 0);
  assert.equal(costPerRejection(kept.peak, { ...kept.overload, cpuMs: used }), 50);
});

test('R12 minimal servers reject every request and use CPU time', async (t) => {
  const requests = createLoadRequests({ headers: { key: 'k' } });
  for (const bare of ['node:http', 'socket'] as const) {
    const cost = await measureRejectionCost(t, bare, { requests, connections: 8, durationMs: 500 });
    assert.ok(cost > 0 && cost < Number.POSITIVE_INFINITY, `${bare}: ${cost}`);
  }
});

test('R12 the service has recovered when everything succeeds and latency is at most doubled', () => {
  const none = { ...answered, byStatus: {}, perSecond: 0, p50: 0 };
  assert.ok(hasRecovered(answered, answered));
  assert.ok(hasRecovered({ ...answered, p50: 2 }, answered));
  assert.ok(!hasRecovered({ ...answered, p50: 2.1 }, answered));
  assert.ok(!hasRecovered(none, answered), 'no responses');
  assert.ok(!hasRecovered({ ...none, byStatus: { 503: 900 } }, answered), 'only rejections');
  assert.ok(!hasRecovered({ ...answered, byStatus: { ...answered.byStatus, 503: 1 } }, answered));
  assert.ok(!hasRecovered({ ...answered, unanswered: 1 }, answered));
  assert.ok(!hasRecovered(undefined, answered));
});

test('R12 rejected or slow calls of other accounts are reported, and so is a noisy account that is never limited', () => {
  const calls = (ms: number) => ({
    ...answered,
    byStatus: { 200: 3_000, 201: 3_000 },
    times: Array<number>(6_000).fill(ms),
    p99: ms,
  });
  const noise = (ms: number, more: object = {}) => ({
    withoutNoise: summarizeOthers([calls(2)]),
    withNoise: summarizeOthers([{ ...calls(ms), ...more }]),
    noisy: { answered: 120, refused: 100 },
    limits: '',
  });
  assert.deepEqual(checkNoise(noise(2.4)), []);
  assert.deepEqual(checkNoise(noise(2.5)), [
    'p99 of the other accounts is 2.5 ms beside a noisy account, and 2 ms without it',
  ]);
  assert.deepEqual(checkNoise({ ...noise(2), noisy: { answered: 120, refused: 0 } }), [
    'no request of the noisy account was rejected',
  ]);
  assert.deepEqual(checkNoise(noise(2, { byStatus: { 200: 5_700, 429: 300 } })), [
    '300 calls of the other accounts got 429',
  ]);
  assert.deepEqual(checkNoise(noise(2, { unsent: 7 })), ['7 calls of the other accounts had no response']);
  assert.deepEqual(checkNoise(noise(2, { times: [], p99: 0 })), ['only 0 calls of the other accounts']);
  const [calm, hurt] = [calls(2), calls(3)];
  assert.equal(summarizeOthers([hurt, calm, calm]).p99, 2, 'the median ignores one bad round');
  assert.equal(summarizeOthers([hurt, calm, hurt]).p99, 3);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answered } from './overload/generator.ts';
import { judge, overload, type Seen } from './overload.ts';
import { quick } from './quick.ts';

quick(overload);

const answered: Answered = {
  byStatus: { 200: 500, 201: 500 },
  withoutRetryAfter: 0,
  made: ['http://carillon.test/v2/events/1'],
  unanswered: 0,
  unsent: 0,
  times: [],
  p50: 1,
  p99: 2,
  perSecond: 1_000,
};
const kept: Seen = {
  peak: { answered, processorMs: 1_000 },
  over: { answered: { ...answered, byStatus: { ...answered.byStatus, 503: 3_000 } }, processorMs: 1_000, asked: 4_000 },
  recoveredMs: 300,
  lost: [],
};
const over = (changed: Partial<Answered>, used = 1_000): Seen => ({
  ...kept,
  over: { asked: 4_000, processorMs: used, answered: { ...kept.over.answered, ...changed } },
});

test('R12 a service that gives in, keeps silent, loses or stays slow does not pass', () => {
  assert.deepEqual(judge(kept), []);
  const wrong: Record<string, Seen> = {
    '77 % of the best goes on': over({}, 1_300),
    '39 % of the best by the clock': over({ perSecond: 390 }),
    'nothing was refused': over({ byStatus: { 200: 500, 201: 500 } }),
    'answered 500': over({ byStatus: { ...kept.over.answered.byStatus, 500: 1 } }),
    '7 refusals without Retry-After': over({ withoutRetryAfter: 7 }),
    '2 requests without an answer': over({ unanswered: 2 }),
    'only 75 % of four times as much was asked': over({ unsent: 1_000 }),
    'as before only after 6000 ms': { ...kept, recoveredMs: 6_000 },
    'acknowledged and lost: /v2/events/7': { ...kept, lost: ['/v2/events/7'] },
  };
  for (const [line, seen] of Object.entries(wrong)) assert.deepEqual(judge(seen), [line]);
});

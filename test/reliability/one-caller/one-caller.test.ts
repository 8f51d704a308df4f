import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attackers, attacks } from './attacks.ts';
import { casesFor, checkAttack, type Measurements } from './one-caller.ts';

const kept: Measurements = {
  honest: {
    byStatus: { 200: 3_000, 201: 1_000 },
    withoutRetryAfter: 0,
    locations: [],
    unanswered: 0,
    unsent: 0,
    times: [],
    p50: 2,
    p99: 150,
    perSecond: 40,
  },
  attack: { connections: 1_000, byStatus: { 408: 1_000 } },
  created: 1_000,
  undelivered: 0,
  residentMiB: 300,
};

test('R16 failed or slow honest calls, undelivered events and growing memory are reported', () => {
  const honest = (changed: Partial<Measurements['honest']>): Measurements => ({
    ...kept,
    honest: { ...kept.honest, ...changed },
  });
  const wrong: Record<string, Measurements> = {
    '98 % of the honest calls succeeded': honest({ byStatus: { 200: 2_920, 201: 1_000, 503: 80 } }),
    '97.6 % of the honest calls succeeded': honest({ unanswered: 100 }),
    '95.2 % of the honest calls succeeded': honest({ unsent: 200 }),
    'p99 of the honest calls was 201 ms': honest({ p99: 201 }),
    '3 of 1000 events were not delivered': { ...kept, undelivered: 3 },
    'no event was created': { ...kept, created: 0 },
    '513 MiB were resident': { ...kept, residentMiB: 513 },
    'the attack opened no connection': { ...kept, attack: { connections: 0, byStatus: {} } },
  };
  assert.deepEqual(checkAttack(kept), []);
  for (const [line, seen] of Object.entries(wrong)) assert.deepEqual(checkAttack(seen), [line]);
});

test('the quick run makes every attack once, and every kind of attacker makes some of them', () => {
  const cases = casesFor(0);
  assert.deepEqual(
    cases.map(({ attack, by }) => [attack.name, by.length]),
    attacks.map(({ name }) => [name, 1]),
  );
  assert.deepEqual([...new Set(cases.flatMap(({ by }) => by))].sort(), [...attackers].sort());
});

import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { FairScheduler } from '../../async/fair-scheduler.ts';
import { AdmissionControl, type RequestClass } from './admission.ts';
import { burstDetector } from './connection-burst.ts';

/**
 * Creates an admission control whose requests each exceed the budget of an iteration, so that each iteration starts
 * one.
 */
function createAdmission(hasFreeSlot: (claim: RequestClass, waiting: number) => boolean = () => true) {
  let now = 0;
  const begun: string[] = [];
  const shed: string[] = [];
  const admission = new AdmissionControl({
    scheduler: new FairScheduler({ clock: { monotonic: () => now }, iterationBudgetMs: 2 }),
    startRequest: (request) => {
      begun.push(String(request.headers['x-name']));
      now += 10;
    },
    hasFreeSlot,
    shed: (request, _response, claim) => shed.push(`${request.headers['x-name']} ${claim}`),
  });
  const enter = (name: string, headers: Record<string, string>, url = '/v2/events') => {
    const request: Pick<IncomingMessage, 'url' | 'headers'> = { url, headers: { ...headers, 'x-name': name } };
    const socket = { remoteAddress: '192.0.2.1' };
    admission.admit({ ...request, socket } as IncomingMessage, { destroyed: false } as ServerResponse);
  };
  return { begun, shed, enter };
}

test('callers with different keys are served round-robin, regardless of how many requests each has queued', async () => {
  const { begun, enter } = createAdmission();
  for (const name of ['a1', 'a2', 'a3', 'a4']) enter(name, { key: 'a' });
  enter('b1', { key: 'b' });
  enter('c1', { cookie: 'c' });
  for (const name of ['v1', 'v2']) enter(name, {});
  while (begun.length < 8) await nextIteration();
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'v1', 'a2', 'v2', 'a3', 'a4']);
});

test('queued visitors take no room from callers, and probes are always admitted', () => {
  const { shed, enter } = createAdmission((claim, waiting) => claim === 'probe' || waiting < 2);
  for (let visitor = 0; visitor < 5; visitor += 1) enter(`v${visitor}`, {});
  for (let caller = 0; caller < 4; caller += 1) enter(`c${caller}`, { key: `${caller}` });
  for (const path of ['/healthz', '/readyz', '/metrics', '/healthz']) enter(path, { key: 'x' }, path);
  assert.deepEqual(shed, ['v3 visitor', 'v4 visitor', 'c2 caller', 'c3 caller']);
});

test('while connections are being accepted, requests with a key start and visitors wait', async () => {
  const { begun, enter } = createAdmission();
  for (let accepted = 0; accepted < 10; accepted += 1) {
    burstDetector.recordConnection();
    enter(`v${accepted}`, {});
    if (accepted === 5) enter('c', { key: 'c' });
    await nextIteration();
  }
  assert.deepEqual(begun, ['c']);
  while (begun.length < 11) await nextIteration();
  assert.deepEqual(begun.slice(1, 3), ['v0', 'v1']);
});

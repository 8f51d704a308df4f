import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pino } from 'pino';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { createApp } from '../../app.ts';
import { FairScheduler } from '../../async/fair-scheduler.ts';
import { createMetrics } from '../../metrics.ts';
import { Problem } from '../../problems.ts';
import { systemRandom } from '../../secrets.ts';
import { RateLimits } from '../auth/rate-limits.ts';
import { AdmissionControl, type RequestClass } from './admission.ts';
import { burstDetector } from './connection-burst.ts';
import { defaultTimeouts } from './resource-limits.ts';

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
    requestSlots: { hasFreeSlot },
    loadShedding: { shed: (request, _response, reason) => shed.push(`${request.headers['x-name']} ${reason}`) },
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
  assert.deepEqual(shed, ['v3 visitors', 'v4 visitors', 'c2 requests', 'c3 requests']);
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

for (const { test, database } of stores) {
  test('X6 /readyz is 503 while the database cannot write and 200 when it can again, with one probe per second', async (t) => {
    const store = await openStoreAt(t, await database(t));
    t.after(() => store.close());
    const clock = createTestClock();
    const metrics = createMetrics({
      store,
      clock,
      countInFlightAttempts: () => 0,
      countLeasedQueues: () => 0,
      findOldestPending: () => Promise.resolve(undefined),
      isMailConfigured: false,
    });
    let probes = 0;
    let result: Promise<void> = Promise.resolve();
    const { server } = await createApp({
      store,
      clock,
      realClock: clock,
      random: systemRandom,
      log: pino({ level: 'silent' }),
      metrics,
      routeGroups: [],
      keylessRouteDeps: {
        clock,
        registry: metrics.registry,
        metricsToken: '',
        probeDatabase: () => {
          probes += 1;
          return result;
        },
        getOpenApiDocument: () => ({}),
        documents: {},
        createServiceInfo: () => ({}),
      },
      baseUrl: () => 'http://carillon.test',
      corsOrigins: [],
      trustProxy: [],
      maxConnections: 100,
      maxUnreadMiB: 80,
      maxFeedWaiters: 10,
      rateLimits: new RateLimits({ rates: {}, clock, onLimitExceeded: () => undefined }),
      wrongKeyRate: undefined,
      isOverPendingQuota: () => false,
      maxRequests: 10,
      onDenied: () => undefined,
      timeouts: defaultTimeouts,
    });
    t.after(() => server.close());
    const request = async (path = '/readyz') => {
      const response = await server.inject(path);
      return [response.statusCode, response.json().code ?? response.json().status, response.headers['retry-after']];
    };
    const storage = new Problem('storage_unavailable');

    assert.deepEqual(await request(), [200, 'ready', undefined]);
    result = Promise.reject(storage);
    result.catch(() => undefined);
    await clock.advance(999);
    assert.deepEqual(await request(), [200, 'ready', undefined], 'probed less than a second ago');
    assert.equal(probes, 1);
    await clock.advance(1);
    for (let time = 0; time < 5; time += 1) assert.deepEqual(await request(), [503, 'storage_unavailable', '1']);
    assert.equal(probes, 2);
    assert.deepEqual(await request('/healthz'), [200, 'alive', undefined], 'the process lives all the while');

    result = Promise.resolve();
    await clock.advance(1_000);
    assert.deepEqual(await request(), [200, 'ready', undefined]);
  });
}

import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { createApp } from '../../app.ts';
import { createMetrics } from '../../metrics.ts';
import { Problem } from '../../problems.ts';
import { systemRandom } from '../../secrets.ts';
import { RateLimits } from '../auth/rate-limits.ts';
import { defaultTimeouts } from './resource-limits.ts';

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

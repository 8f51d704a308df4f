import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd } from '../../kit/cleanup.ts';
import { HISTORY_BASE_URL, startObservers } from '../workload/observers.ts';
import { findSlowTakeovers, scheduleLosses } from './nodes.ts';

test('every kind of loss is scheduled, and a takeover that is too slow is reported', () => {
  assert.deepEqual(scheduleLosses(6).toSorted(), [
    'killed',
    'killed',
    'partitioned',
    'partitioned in a transaction',
    'paused',
    'paused for seconds',
  ]);
  const waited = (killed: number, still: number, isAlone = true) =>
    findSlowTakeovers(new Map([['killed', [1_200, killed]] as const, ['paused', [still]] as const]), isAlone);
  assert.deepEqual(waited(2_000, 15_000), []);
  assert.equal(waited(2_001, 15_000).length, 1);
  assert.equal(waited(1_300, 15_001).length, 1);
  assert.deepEqual([waited(4_000, 1, false).length, waited(4_001, 1, false).length], [0, 1]);
});

test('records have one address in the history, also from a node that no client ever called', async (t) => {
  const targets: string[] = [];
  const service = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      targets.push(JSON.parse(body).target_url);
      response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"1"}');
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  atEnd(t, () => void service.close());
  const observers = await startObservers(t, { random: seededRandom(1) });
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  await observers.subscribe({ baseUrl, headers: {} }, '/hook', 'new_event');
  observers.recover();
  const notify = async (origin: string) => {
    const body = JSON.stringify({ resource_url: `${origin}/v2/events/1` });
    await fetch(targets[0] ?? '', { method: 'POST', headers: { 'webhook-id': '1' }, body });
  };
  observers.expectOrigin('http://127.0.0.1:1');
  await notify('http://127.0.0.1:1');
  await notify('http://127.0.0.1:2');
  const { arrivals } = observers.history({ records: new Map(), occurrences: [], hooks: [], pending: 0 });
  const named = arrivals.map(({ body }) => JSON.parse(body).resource_url);
  assert.deepEqual(named, [`${HISTORY_BASE_URL}/v2/events/1`, 'http://127.0.0.1:2/v2/events/1']);
});

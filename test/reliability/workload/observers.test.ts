import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd } from '../../kit/cleanup.ts';
import { HISTORY_BASE_URL, startObservers } from './observers.ts';

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

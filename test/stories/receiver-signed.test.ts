import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import express from 'express';
import { Webhook } from 'standardwebhooks';
import { createReceiver, type Receiver } from '../../packages/sdk/src/receiver/index.ts';
import { atEnd } from '../kit/cleanup.ts';
import { eventually } from '../kit/eventually.ts';
import { sqlite } from '../kit/stores.ts';

const secretOf = (text: string) => `whsec_${Buffer.from(text.padEnd(32, '.')).toString('base64')}`;
const [old, fresh, otherSecret] = [secretOf('old'), secretOf('new'), secretOf('other')];

const carillon = await sqlite.testService({ after });
const owner = await carillon.account('acme.test');
const account = { baseUrl: carillon.baseUrl, domain: owner.domain, key: owner.key };
const body = JSON.stringify({ resource_url: `${carillon.baseUrl}/v2/events/1` });

/** Signs as the Standard Webhooks library does. */
function signed(secret: string, { ageS = 0, id = 'd-1', text = body } = {}): Record<string, string> {
  const at = new Date(Date.now() - ageS * 1_000);
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, text),
  };
}

test('X8 a receiver accepts recent notifications that the official library signed with one of its secrets, and no others', async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const receiver = createReceiver({ ...account, secret: [old, `${fresh}\n`], on: {}, onError });
  const status = async (headers: Record<string, string>, text = body) =>
    (await receiver.fetch(new Request('http://here/', { method: 'POST', headers, body: text }))).status;
  const good = signed(old);
  for (const secret of [old, fresh]) assert.equal(await status(signed(secret)), 200);
  for (const ageS of [290, -290]) assert.equal(await status(signed(old, { ageS })), 200, `${ageS} s old`);
  // During a rotation a notification has two signatures.
  const two = `${signed(otherSecret)['webhook-signature']} v1a,x ${good['webhook-signature']}`;
  assert.equal(await status({ ...good, 'webhook-signature': two }), 200);
  const wrong: readonly Record<string, string>[] = [
    signed(otherSecret),
    signed(old, { ageS: 310 }),
    signed(old, { ageS: -310 }),
    signed(old, { text: `${body} ` }),
    { ...good, 'webhook-id': 'd-2' },
    { ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) },
    { ...good, 'webhook-timestamp': 'now' },
    { ...good, 'webhook-signature': '' },
    { ...good, 'webhook-signature': 'v1,' },
    { ...good, 'webhook-signature': 'v1,%%%' },
    { ...good, 'webhook-signature': String(good['webhook-signature']).replace('v1,', 'v2,') },
    { ...good, 'webhook-signature': String(good['webhook-signature']).slice(0, -5) },
    { 'content-type': 'application/json', 'webhook-id': 'd-1' },
  ];
  for (const headers of wrong) assert.equal(await status(headers), 400, JSON.stringify(headers));
  assert.equal(errors.length, wrong.length);
  for (const secret of ['', 'whsec_', 'whsec_%', 'abc']) {
    assert.throws(() => createReceiver({ ...account, secret, on: {} }), TypeError);
  }
});

test('X8 a receiver accepts notifications of a signed hook, also behind a body parser', async (t) => {
  const current: { receiver?: Receiver } = {};
  const app = express().use(express.json());
  const server = createServer(app.post('/bell-9c', (request, response) => current.receiver?.node(request, response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(t, () => server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const { hooks, deliveries, events } = owner.carillon;
  const target_url = `http://127.0.0.1:${port}/bell-9c`;
  const { id } = await hooks.create({ target_url, event: 'new_event' });
  const { secret } = await hooks.createSecret(id);
  const called: string[] = [];
  current.receiver = createReceiver({
    ...account,
    secret,
    on: { new_event: ({ event_name }) => called.push(event_name) },
  });
  await events.create({ event_name: 'Launch', start_date: '20270101', due_date: '20270101' });
  await eventually(
    () => deliveries.list({ hook_id: id, state: 'delivered' }),
    ({ paging }) => paging.total_records === 1,
  );
  assert.deepEqual(called, ['Launch']);
  const forged = await fetch(target_url, { method: 'POST', headers: signed(otherSecret), body });
  assert.equal(forged.status, 400);
  await current.receiver.stop();
});

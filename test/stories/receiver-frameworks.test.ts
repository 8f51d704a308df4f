import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { serve as serveFetch } from '@hono/node-server';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { createReceiver, type Receiver } from '../../packages/sdk/src/receiver/index.ts';
import { atEnd } from '../kit/cleanup.ts';
import { eventually } from '../kit/eventually.ts';
import { sqlite } from '../kit/stores.ts';

const PATH = '/bell-d7c1';

/** Listens on a free port and returns it. */
type Listen = (receiver: Receiver, t: TestContext) => Promise<number>;

function portOf(server: Pick<Server, 'address'>): number {
  return (server.address() as AddressInfo).port;
}

async function listening(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return portOf(server);
}

function listenFetchStyle(t: TestContext, fetch: (request: Request) => Response | Promise<Response>): Promise<number> {
  return new Promise((resolve) => {
    const server = serveFetch({ fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
    atEnd(t, () => server.close());
  });
}

/** The examples of docs/receiving.md. */
const frameworks: Readonly<Record<string, Listen>> = {
  'node:http': ({ node }, t) => listening(t, createServer(node)),
  Express: ({ node }, t) => listening(t, createServer(express().post(PATH, node))),
  'Express behind express.json()': ({ node }, t) =>
    listening(t, createServer(express().use(express.json()).post(PATH, node))),
  'Express behind express.raw()': ({ node }, t) =>
    listening(
      t,
      createServer(
        express()
          .use(express.raw({ type: '*/*' }))
          .post(PATH, node),
      ),
    ),
  Fastify: async (receiver, t) => {
    const app = fastify();
    app.post(PATH, receiver.fastify);
    atEnd(t, () => app.close());
    await app.listen({ port: 0, host: '127.0.0.1' });
    return portOf(app.server);
  },
  Hono: (receiver, t) => listenFetchStyle(t, new Hono().post(PATH, (c) => receiver.fetch(c.req.raw)).fetch),
  'a fetch-style server': ({ fetch }, t) => listenFetchStyle(t, fetch),
};

const carillon = await sqlite.testService({ after }, { options: { retryWaits: '20ms,40ms' } });

const event = (event_name: string) => ({ event_name, start_date: '20270101', due_date: '20270101' });

/** Invalid requests, and the status that every framework must return. */
const invalidRequests: readonly (readonly [status: number, mediaType: string, body: string])[] = [
  [415, 'text/plain', `{"resource_url":"${carillon.baseUrl}/v2/events/1"}`],
  [400, 'application/json', '{"resource_url":"http://127.0.0.1:9/v2/events/1"}'],
  [400, 'application/json', '["resource_url"]'],
  [413, 'application/json', `{"resource_url":"${carillon.baseUrl}/v2/events/1","more":"${'x'.repeat(5_000)}"}`],
];

for (const [name, listen] of Object.entries(frameworks)) {
  test(`C15 C17 a receiver handles a notification, again after a failure, and ignores invalid requests: ${name}`, async (t) => {
    const owner = await carillon.account(`${name.replace(/\W+/g, '-').toLowerCase()}.test`);
    const { events, hooks, deliveries } = owner.carillon;
    const called: string[] = [];
    const errors: unknown[] = [];
    const failing = ['Launch'];
    const receiver = createReceiver({
      ...{ baseUrl: carillon.baseUrl, domain: owner.domain, key: owner.key },
      on: {
        new_event: ({ event_name }) => {
          called.push(event_name);
          if (failing.shift() === event_name) throw new Error('not now');
        },
      },
      onError: (error, context) => errors.push([error instanceof Error && error.message, context?.kind]),
    });
    const target_url = `http://127.0.0.1:${await listen(receiver, t)}${PATH}`;
    for (const [status, mediaType, body] of invalidRequests) {
      const response = await fetch(target_url, { method: 'POST', headers: { 'content-type': mediaType }, body });
      assert.equal(response.status, status, body.slice(0, 60));
    }
    assert.deepEqual(called, []);
    errors.length = 0;
    const { id } = await hooks.create({ target_url, event: 'new_event' });
    await hooks.test(id);
    await events.create(event('Launch'));
    const { data } = await eventually(
      () => deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 2,
    );
    const outcomes = await Promise.all(data.map(async (one) => (await deliveries.get(one.id)).attempts));
    assert.deepEqual(
      outcomes.map((attempts) => attempts.map(({ outcome }) => outcome)),
      [['200'], ['503', '200']],
    );
    assert.deepEqual(called, ['Launch', 'Launch']);
    assert.deepEqual(errors, [['not now', 'new_event']]);
    await receiver.stop();
  });
}

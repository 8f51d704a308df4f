import assert from 'node:assert/strict';
import { after } from 'node:test';
import { startTarget } from '../../../test/kit/network/target.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';

/** Headers that HTTP itself requires. */
const HTTP_HEADERS = ['connection', 'content-length', 'content-type', 'host'];

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  test('C15 X6 X8 a notification has exactly the body and headers of the OpenAPI document', async (t) => {
    const owner = await carillon.createAccount('described.test');
    const target = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_client' });

    const document: Json = (await carillon.call(undefined, 'GET', '/openapi.json')).json;
    const { parameters, requestBody, security } = document.webhooks.notification.post;
    const headers = parameters as readonly { name: string; required: boolean; schema: { pattern?: string } }[];
    const media = requestBody.content['application/json'];
    const { properties } = document.components.schemas[media.schema.$ref.split('/').at(-1)];

    await owner.carillon.clients.create({ client_name: 'Plain' });
    await target.waitForArrivals(1);
    await owner.carillon.hooks.createSecret(id);
    await owner.carillon.clients.create({ client_name: 'Signed' });
    const received = await target.waitForArrivals(2);
    // A creation has a cursor, and no changed fields.
    const described = headers.map(({ name }) => name.toLowerCase()).filter((name) => name !== 'webhook-fields');
    for (const [index, notification] of received.entries()) {
      assert.deepEqual(Object.keys(JSON.parse(notification.body)), Object.keys(properties));
      const sent = Object.keys(notification.headers).filter((name) => !HTTP_HEADERS.includes(name));
      const required = headers.filter((one) => one.required).map(({ name }) => name.toLowerCase());
      assert.deepEqual(sent.sort(), (index === 0 ? [...required, 'webhook-cursor'] : described).sort());
      for (const { name, schema } of headers.filter((one) => sent.includes(one.name.toLowerCase())))
        assert.match(String(notification.headers[name.toLowerCase()]), new RegExp(schema.pattern ?? '.'), name);
    }
    assert.deepEqual(security, [], 'a target knows no key');
  });
}

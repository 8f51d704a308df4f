import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { userAtNode } from '../../kit/service/nodes.ts';
import type { Json } from '../../kit/service/service.ts';
import { sqlite } from '../../kit/service/stores.ts';

const workflow: Json = JSON.parse(readFileSync(new URL('../../../deploy/n8n/workflow.json', import.meta.url), 'utf8'));
const parametersOf = (name: string): Json => workflow.nodes.find((node: Json) => node.name === name).parameters;

/** Evaluates an n8n expression: text with JavaScript in double braces, or a single value. */
function evaluate(expression: string, given: object): string {
  return expression
    .slice(1)
    .replace(/\{\{(.*?)\}\}/g, (_, code: string) => String(runInNewContext(code, { ...given })));
}

const { test, testService } = sqlite;

test('C16 the n8n workflow fetches the record of a notification, at the address where n8n reaches the service', async (t) => {
  const carillon = await testService(t, { options: { baseUrl: 'https://calendar.example.com/bells' } });
  const owner = userAtNode({ baseUrl: carillon.service.url }, await carillon.createAccount('acme.test'));
  const { event_id } = await owner.carillon.events.create({
    event_name: 'Release',
    start_date: '20270101',
    due_date: '20270102',
  });
  // The notification has the public base URL, which n8n may not be able to reach.
  const notification = { resource_url: `https://calendar.example.com/bells/v2/events/${event_id}` };
  const env = {
    RECEIVER_SERVICE: carillon.service.url,
    RECEIVER_DOMAIN: owner.domain,
    RECEIVER_KEY: owner.key,
  };
  const { url, headerParameters, options } = parametersOf('Fetch the record');
  const answerCode = (status: number) =>
    evaluate(parametersOf('Answer').options.responseCode, { $json: { statusCode: status } });

  const fetchAsWorkflow = async () => {
    const address = evaluate(url, { $env: env, $json: { body: notification } });
    const headers = headerParameters.parameters.map((one: Json) => [one.name, evaluate(one.value, { $env: env })]);
    return fetch(address, { headers, redirect: 'manual' });
  };
  assert.equal(options.response.response.neverError, true);
  assert.equal(options.redirect.redirect.followRedirects, false);
  const response = await fetchAsWorkflow();
  assert.equal(response.status, 200);
  const record: Json = await response.json();
  assert.equal(record.data.event_name, 'Release');
  assert.equal(answerCode(200), '200');

  await owner.carillon.events.delete(event_id);
  assert.equal((await fetchAsWorkflow()).status, 404);
  assert.equal(answerCode(404), '200', 'deleted since: nothing to try again');
  // A wrong key and a starting service must not end the hook.
  for (const status of [401, 500, 503]) assert.equal(answerCode(status), '502');
});

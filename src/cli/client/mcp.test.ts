import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiRoutes } from '../../../test/kit/api/routes.ts';
import { startDialogue } from '../../../test/kit/service/command.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { selectTools } from './mcp.ts';

const namesOf = (flags: Parameters<typeof selectTools>[0]) => selectTools(flags).map(({ name }) => name);

test('every route is a tool with its ids, parameters and fields, except those that return a secret', () => {
  const tools = selectTools({});
  const left = apiRoutes.filter((row) => row.aliasOf === undefined && !tools.some(({ verb }) => same(verb.route, row)));
  assert.deepEqual(left.map(({ method, path }) => `${method} ${path}`).sort(), [
    'POST /calendars',
    'POST /hooks/{hook_id}/secret',
    'POST /keys',
  ]);
  assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length);
  for (const { name, verb, inputSchema } of tools) {
    assert.match(name, /^[a-z_]{1,64}$/);
    const { idNames, route } = verb;
    const fields = [...idNames, ...Object.keys(route.parameters), ...Object.keys(route.bodySchema?.properties ?? {})];
    assert.deepEqual(Object.keys(inputSchema.properties), fields, name);
    assert.equal(new Set(fields).size, fields.length, `${name}: two fields of one name`);
  }
});

const same = (one: { method: string; path: string }, other: { method: string; path: string }) =>
  one.method === other.method && one.path === other.path;

test('flags limit the tools to reading and to some resources', () => {
  assert.deepEqual(namesOf({ resources: 'events, time-entries', readOnly: true }), [
    'events_list',
    'events_show',
    'time_entries_list',
    'time_entries_show',
  ]);
  assert.throws(() => selectTools({ resources: 'events,bells' }), /bells is not one of events/);
});

test('a program lists and calls the tools over standard input and output, with the permissions of the key', async (t) => {
  const service = await sqlite.testService(t);
  const { carillon } = await service.createAccount('acme.test');
  const { key } = await carillon.keys.create({ permissions: ['events:read', 'events:write'], label: 'assistant' });
  const event = { event_name: 'Launch', start_date: '20270301', due_date: '20270301' };
  const made = await carillon.events.create(event);
  await carillon.events.create(event);

  const calls: readonly (readonly [string, object])[] = [
    ['events_create', { ...event, event_name: 'By a tool' }],
    ['events_show', { event_id: made.event_id }],
    ['events_list', { limit: 1, start_from: '20270301' }],
    ['events_update', { event_id: made.event_id, due_date: 'soon' }],
    ['events_delete', { event_id: made.event_id }],
    ['events_show', { event_id: made.event_id }],
    ['events_show', { event_id: '../users' }],
    ['events_show', { event_id: ['17'] }],
    ['events_show', {}],
    ['events_list', { start_form: '20270301' }],
    ['events_list', { limit: [1] }],
    ['clients_list', {}],
    ['keys_create', {}],
  ];
  const environment = { CARILLON_SERVICE: service.baseUrl, CARILLON_DOMAIN: 'acme.test', CARILLON_KEY: key };
  const server = startDialogue(t, ['mcp'], { environment });
  let id = 0;
  const request = async (method: string, params: object = {}) => {
    id += 1;
    const answer: Json = JSON.parse(await server.ask(JSON.stringify({ jsonrpc: '2.0', id, method, params })));
    assert.equal(answer.id, id);
    return answer.result;
  };
  const clientInfo = { name: 'test', version: '1' };
  const hello = await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  assert.equal(hello.serverInfo.name, 'carillon');
  const listed = await request('tools/list');
  assert.deepEqual(
    listed.tools.map(({ name }: Json) => name),
    namesOf({}),
  );
  const results: Json[] = [];
  for (const [name, given] of calls) results.push(await request('tools/call', { name, arguments: given }));
  const said = results.map(({ content: [{ text }], isError }: Json) => (isError ? text : JSON.parse(text)));
  const [
    created,
    shown,
    page,
    bad,
    gone,
    missing,
    malformed,
    listOfIds,
    noId,
    misspelt,
    listOfLimits,
    refused,
    secret,
  ] = said;
  assert.equal(created.data.event_name, 'By a tool');
  assert.deepEqual(shown.data, made);
  assert.deepEqual([page.data.length, page.paging.total_records], [1, 3]);
  assert.match(page.next, /^[\w-]+$/);
  assert.match(bad, /^400 invalid_input: due_date must be a real calendar day [^;]*$/);
  assert.deepEqual(gone, []);
  assert.match(missing, /^404 not_found: /);
  assert.match(malformed, /event_id must be digits/);
  assert.equal(listOfIds, 'event_id must be a text, a number, true or false.');
  assert.equal(noId, 'event_id is missing.');
  assert.match(misspelt, /^start_form is not an argument; valid: .*\bstart_from\b/);
  assert.equal(listOfLimits, 'limit must be a text, a number, true or false.');
  assert.match(refused, /^401 not_permitted: /);
  assert.equal(secret, 'There is no tool keys_create.');
  assert.equal(await server.end(), 0);
});

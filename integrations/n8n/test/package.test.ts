import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hookKinds } from '../../../packages/sdk/src/index.ts';
import { occurrenceKinds } from '../../../src/delivery/outbox/event-kinds.ts';
import { getNodeType, loadPackage } from './platform.ts';

test('n8n loads three nodes and one credential type, with their icons', async () => {
  const { types, known } = await loadPackage();
  assert.deepEqual(types.nodes.map(({ name }) => name).sort(), ['carillon', 'carillonFeedTrigger', 'carillonTrigger']);
  assert.deepEqual(Object.keys(known.credentials), ['carillonApi']);
  const supported = known.credentials.carillonApi?.supportedNodes ?? [];
  assert.equal(supported.length, 3);
  for (const { iconUrl } of types.nodes) assert.ok(iconUrl !== undefined);
});

test('X14 the trigger offers all kinds of the service; its first version, the seven that it has had', () => {
  const { properties } = getNodeType('carillonTrigger').description;
  const offeredBy = (name: string) =>
    properties.find((one) => one.name === name)?.options?.map((option) => 'value' in option && option.value);
  assert.deepEqual(offeredBy('events')?.sort(), ['*', ...occurrenceKinds].sort());
  assert.deepEqual(offeredBy('kind')?.sort(), [...hookKinds].sort());
});

test('every operation of every resource can be chosen, and every field is shown once', () => {
  const { properties } = getNodeType('carillon').description;
  for (const resource of ['event', 'client', 'project', 'task', 'subtask', 'hook']) {
    const own = properties.filter(({ displayOptions }) => displayOptions?.show?.resource?.includes(resource));
    const operations = own.find(({ name }) => name === 'operation')?.options?.map((one) => 'value' in one && one.value);
    const wanted = resource === 'hook' ? ['get', 'getAll', 'restore'] : ['create', 'delete', 'get', 'getAll', 'update'];
    assert.deepEqual(
      wanted.filter((one) => !operations?.includes(one)),
      [],
      resource,
    );
    for (const operation of operations ?? []) {
      const asked = own.filter(({ displayOptions }) => displayOptions?.show?.operation?.includes(String(operation)));
      const names = asked.map(({ name }) => name);
      assert.equal(new Set(names).size, names.length, `${resource} ${operation}`);
    }
  }
});

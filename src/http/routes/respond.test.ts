import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createOneOfEach } from '../../../test/kit/api/furnished-account.ts';
import { apiRoutes } from '../../../test/kit/api/routes.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { fc } from '../../../test/kit/packages.ts';
import { serializeTables } from '../../../test/kit/service/occurrences.ts';
import type { ApiResponse, ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { findRepresentationRoute, parseEntityTags } from './respond.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const target = await startTarget({ after });
  let hooks = 0;
  const targets = () => {
    hooks += 1;
    return target.urlOf(`/${hooks}`);
  };
  const EVENT = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  const TAG = /^"[\w-]{22}"$/;

  const etagIn = ({ headers }: ApiResponse) => headers.get('etag') ?? '';
  const refusal = ({ status, json }: ApiResponse) => [status, json?.code];
  const read = (who: ApiUser, path: string, headers: Record<string, string> = {}) =>
    carillon.call(who, 'GET', `/v2${path}`, undefined, headers);
  const change = (who: ApiUser, path: string, body: unknown, headers: Record<string, string>) =>
    carillon.call(who, 'PUT', `/v2${path}`, body, headers);
  const remove = (who: ApiUser, path: string, headers: Record<string, string>) =>
    carillon.call(who, 'DELETE', `/v2${path}`, undefined, headers);

  async function createEvent(domain: string) {
    const owner = await carillon.createAccount(domain);
    const { event_id } = await owner.carillon.events.create(EVENT);
    const path = `/events/${event_id}`;
    return { owner, path, tag: etagIn(await read(owner, path)) };
  }

  test('X5 the responses to a creation, a change and a read of one record have the same strong ETag', async () => {
    const owner = await carillon.createAccount('same.test');
    const { project_id, task_id } = await createOneOfEach(owner, carillon, targets);
    const resourceTypes: Readonly<Record<string, readonly [path: string, body: object, changed: object]>> = {
      event: ['/events', { ...EVENT, project_id }, { event_name: 'Other' }],
      client: ['/clients', { client_name: 'A' }, { client_name: 'B' }],
      project: ['/projects', { project_name: 'A', users: [owner.userId] }, { notes: 'B' }],
      task: [`/tasks/${project_id}`, { task_name: 'A', users: [owner.userId] }, { completed: 1 }],
      subtask: [`/subtasks/${task_id}`, { subtask_name: 'A' }, { progress: 50 }],
      user: ['/users', { email: 'new@same.test' }, { first_name: 'B' }],
    };
    for (const [resourceType, [path, body, changed]] of Object.entries(resourceTypes)) {
      const created = await carillon.call(owner, 'POST', `/v2${path}`, body);
      assert.match(etagIn(created), TAG, resourceType);
      const [id] = Object.values(created.json.data);
      const record = `/${path.split('/')[1]}/${id}`;
      assert.equal(etagIn(await read(owner, record)), etagIn(created), resourceType);
      const updated = await change(owner, record, changed, { 'if-match': etagIn(created) });
      assert.equal(updated.status, 200, updated.text);
      assert.notEqual(etagIn(updated), etagIn(created), resourceType);
      assert.equal(etagIn(await read(owner, record)), etagIn(updated), resourceType);
      const deleted = await remove(owner, record, { 'if-match': etagIn(updated) });
      assert.deepEqual([deleted.status, etagIn(deleted)], [200, ''], resourceType);
    }
  });

  test('X5 X7 the ETag of a key is computed without its secret', async () => {
    const owner = await carillon.createAccount('key.test');
    const issued = await carillon.call(owner, 'POST', '/v2/keys', { label: 'new' });
    assert.match(etagIn(issued), TAG);
    const path = `/keys/${issued.json.data.id}`;
    assert.equal(etagIn(await read(owner, path)), etagIn(issued));
    assert.equal((await remove(owner, path, { 'if-match': etagIn(issued) })).status, 200);
  });

  test('X5 responses other than single records have no ETag and no preconditions', async () => {
    const { owner } = await createEvent('lists.test');
    for (const path of ['/events', '/hooks', '/notifications', '/deliveries']) {
      const answer = await read(owner, path, { 'if-none-match': '*', 'if-match': '"no"' });
      assert.deepEqual([answer.status, etagIn(answer)], [200, ''], path);
    }
    const hook = await carillon.call(owner, 'POST', '/v2/hooks', { target_url: targets(), event: 'new_event' });
    assert.deepEqual([hook.status, etagIn(hook)], [201, '']);
    const tested = await carillon.call(owner, 'POST', `/v2/hooks/${hook.json.id}/test`);
    assert.deepEqual([tested.status, etagIn(tested)], [202, '']);
    assert.match(etagIn(await read(owner, '/user')), TAG);
    assert.match(etagIn(await read(owner, '/company')), TAG);
  });

  test('X5 If-None-Match: an unchanged record is 304 without a body', async () => {
    const { owner, path, tag } = await createEvent('known.test');
    for (const header of ['*', tag, `W/${tag}`, `"x", ${tag}`, `"",W/${tag} ,"y"`]) {
      const answer = await read(owner, path, { 'if-none-match': header });
      assert.deepEqual([answer.status, answer.text, etagIn(answer)], [304, '', tag], header);
      assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
    }
    const head = await carillon.call(owner, 'HEAD', `/v2${path}`, undefined, { 'if-none-match': tag });
    assert.equal(head.status, 304);
    for (const header of ['"x"', '""', `"${tag.slice(1, 5)}"`]) {
      assert.equal((await read(owner, path, { 'if-none-match': header })).status, 200, header);
    }
    await owner.carillon.events.update(path.slice('/events/'.length), { event_name: 'Other' });
    const changed = await read(owner, path, { 'if-none-match': tag });
    assert.deepEqual([changed.status, changed.json.data.event_name], [200, 'Other']);
    await remove(owner, path, {});
    assert.equal((await read(owner, path, { 'if-none-match': tag })).status, 404);
  });

  test('X5 If-Match: a change of a record that has changed is 412, and nothing is written', async () => {
    const { owner, path, tag } = await createEvent('stale.test');
    const before = await serializeTables(carillon);
    for (const header of ['"x"', `W/${tag}`, '"x", "y"', '""']) {
      for (const answer of [
        await change(owner, path, { event_name: 'Lost' }, { 'if-match': header }),
        await change(owner, path, { event_name: '' }, { 'if-match': header }),
        await remove(owner, path, { 'if-match': header }),
        await read(owner, path, { 'if-match': header }),
      ]) {
        assert.deepEqual(refusal(answer), [412, 'precondition_failed'], header);
      }
    }
    for (const header of ['*', tag, `W/${tag}`]) {
      const answer = await change(owner, path, { event_name: 'New' }, { 'if-none-match': header });
      assert.deepEqual(refusal(answer), [412, 'precondition_failed'], `If-None-Match ${header}`);
    }
    assert.equal(await serializeTables(carillon), before);

    const changed = await change(owner, path, { event_name: 'Kept' }, { 'if-match': `"x", ${tag}` });
    assert.deepEqual([changed.status, changed.json.data.event_name], [200, 'Kept']);
    assert.equal((await change(owner, path, { event_name: 'Late' }, { 'if-match': tag })).status, 412);
    assert.equal((await change(owner, path, { event_name: 'Any' }, { 'if-match': '*' })).status, 200);
    assert.equal((await change(owner, path, { event_name: 'New' }, { 'if-none-match': tag })).status, 200);
    assert.equal((await remove(owner, path, { 'if-match': '*' })).status, 200);
  });

  test('X5 of concurrent changes with the same ETag, exactly one succeeds', async () => {
    const { owner, path } = await createEvent('race.test');
    for (let round = 1; round <= 5; round += 1) {
      const tag = etagIn(await read(owner, path));
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          change(owner, path, { event_name: `Round ${round}, ${index}` }, { 'if-match': tag }),
        ),
      );
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1);
      assert.equal(answers.filter(({ status }) => status === 412).length, 9);
      assert.equal((await read(owner, path)).text, won[0]?.text);
    }
  });

  test('C3 X5 a missing record is 404 with any precondition, byte for byte the same', async () => {
    const { path, tag } = await createEvent('theirs.test');
    const stranger = await carillon.createAccount('stranger.test');
    const bare = await read(stranger, path);
    assert.equal(bare.status, 404);
    for (const condition of ['if-match', 'if-none-match']) {
      for (const header of ['*', tag, '"x"']) {
        for (const answer of [
          await read(stranger, path, { [condition]: header }),
          await change(stranger, path, { event_name: 'x' }, { [condition]: header }),
          await remove(stranger, path, { [condition]: header }),
        ]) {
          assert.deepEqual([answer.status, answer.text, etagIn(answer)], [404, bare.text, '']);
        }
      }
    }
  });

  test('C4 X5 a malformed precondition is rejected by name, and nothing is written', async () => {
    const { owner, path, tag } = await createEvent('form.test');
    const before = await serializeTables(carillon);
    for (const [name, header] of ['If-Match', 'If-None-Match'].flatMap((one) =>
      ['x', tag.slice(1, -1), `*, ${tag}`, `w/${tag}`, '"a" "b"', '"a', '', ',', 'W/', `"a"${', '.repeat(30)}x`].map(
        (text) => [one, text] as const,
      ),
    )) {
      for (const answer of [
        await read(owner, path, { [name]: header }),
        await change(owner, path, { event_name: 'x' }, { [name]: header }),
        await remove(owner, path, { [name]: header }),
      ]) {
        assert.equal(answer.status, 400, `${name}: ${header}`);
        assert.deepEqual(
          answer.json.errors.map(({ field }: { field: string }) => field),
          [name],
        );
      }
    }
    assert.equal(await serializeTables(carillon), before);
  });
}

test('X5 every route with preconditions has a record that they apply to', () => {
  const conditional = apiRoutes.filter((row) => row.mode === 'write' && row.supportsPreconditions);
  assert.ok(conditional.length > 20, `${conditional.length} rows`);
  const without = conditional.filter((row) => findRepresentationRoute(row, apiRoutes) === undefined);
  assert.deepEqual(
    without.map(({ method, path }) => `${method} ${path}`),
    [],
  );
});

const opaque = fc
  .string({ unit: fc.constantFrom('!', '#', 'a', 'W', '/', ',', '\\', '*', '~', '\x80', '\xff') })
  .map((text) => `"${text}"`);
const tag = fc.record({ opaque, isWeak: fc.boolean() }, { noNullPrototype: true });
const whitespace = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });
/** An element of the list in RFC 9110, 5.6.1: a tag or nothing, with optional whitespace around it. */
const element = fc.tuple(whitespace, fc.option(tag, { nil: undefined }), whitespace);

test('X5 every valid list is parsed into its tags, without empty elements', () => {
  fc.assert(
    fc.property(fc.array(element, { minLength: 1, maxLength: 8 }), (elements) => {
      const text = elements
        .map(([before, one, behind]) => {
          const written = one === undefined ? '' : `${one.isWeak ? 'W/' : ''}${one.opaque}`;
          return before + written + behind;
        })
        .join(',');
      const tags = elements.flatMap(([, one]) => (one === undefined ? [] : [one]));
      assert.deepEqual(parseEntityTags(text), tags.length === 0 ? undefined : tags);
    }),
  );
});

test('X5 anything but a comma and whitespace between two tags makes a list malformed', () => {
  const between = fc.constantFrom('', ' ', '\t', 'x', ', x', ',W', ',w/', '\u00a0,', ',\u00a0', ';', ', *', ',"');
  fc.assert(
    fc.property(tag, between, tag, (first, text, second) => {
      assert.equal(parseEntityTags(`${first.opaque}${text}${second.opaque}x`), undefined);
      if (!text.includes('"')) assert.equal(parseEntityTags(`${first.opaque}${text}${second.opaque}`), undefined);
    }),
  );
  for (const text of ['', ' ', ',', 'x', '*', 'W/', 'W/a', '"', '"a', 'a"', '"a b"', '"\x7f"', '"\u0100"', 'W/ "a"']) {
    assert.equal(parseEntityTags(text), undefined, text);
  }
});

test('X5 a malformed list of maximum header length is rejected quickly', () => {
  for (const part of [', ', ',', ' ', '\t,', '"",', '"a" ,', 'W/', 'W/"', '"', 'W']) {
    assert.equal(parseEntityTags(`"a"${part.repeat(16_384 / part.length)}x`), undefined, part);
  }
});

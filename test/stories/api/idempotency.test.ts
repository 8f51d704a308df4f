import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '../../../src/clock.ts';
import { deleteExpiredResponses, runOnce } from '../../../src/http/routes/idempotency.ts';
import { AccountWrite } from '../../../src/store/account-scope.ts';
import { createOneOfEach } from '../../kit/api/furnished-account.ts';
import { readAllBytes } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { sendRawRequest } from '../../kit/network/raw-http.ts';
import { startTarget } from '../../kit/network/target.ts';
import { feedPositionOf, recordOccurrences, serializeTables } from '../../kit/service/occurrences.ts';
import type { ApiResponse, ApiUser, TestService } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';
import { scenarios } from '../delivery/walk.scenarios.ts';

const HOUR_MS = 3_600_000;

for (const { test, testService } of stores) {
  let now = Date.parse('2027-01-01T00:00:00Z');
  const carillon = await testService({ after }, { deps: { clock: { ...systemClock, now: () => now } } });
  const EVENT_INPUT = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  const post = (who: ApiUser, path: string, body: unknown, word: string, service: TestService = carillon) =>
    service.call(who, 'POST', `/v2${path}`, body, { 'idempotency-key': word });
  const isRepeated = ({ headers }: ApiResponse) => headers.get('idempotency-replayed') === 'true';
  const visibleParts = ({ status, text, headers }: ApiResponse) => ({
    status,
    text,
    location: headers.get('location'),
    etag: headers.get('etag'),
    type: headers.get('content-type'),
  });
  const statusAndCode = ({ status, json }: ApiResponse) => [status, json.code];
  const storedResponses = async (service: TestService = carillon) =>
    (await service.store.read.selectFrom('idempotency').selectAll().execute()).length;

  test('X4 a repeated request gets the same response and is executed once', async () => {
    const owner = await carillon.createAccount('again.test');
    const first = await post(owner, '/events', EVENT_INPUT, 'launch-1');
    assert.deepEqual([first.status, isRepeated(first)], [201, false]);
    const before = await serializeTables(carillon);
    for (let count = 1; count <= 3; count += 1) {
      const again = await post(owner, '/events', EVENT_INPUT, 'launch-1');
      assert.deepEqual(visibleParts(again), visibleParts(first));
      assert.ok(isRepeated(again));
    }
    assert.equal(await serializeTables(carillon), before, 'nothing was written');
    assert.equal(await feedPositionOf(carillon, 'again.test'), 1, 'nothing happened');

    await owner.carillon.events.delete(first.json.data.event_id);
    assert.deepEqual(
      visibleParts(await post(owner, '/events', EVENT_INPUT, 'launch-1')),
      visibleParts(first),
      'also after its deletion',
    );
    const other = await post(owner, '/events', EVENT_INPUT, 'launch-2');
    assert.notEqual(other.json.data.event_id, first.json.data.event_id, 'another idempotency key is another request');
  });

  test('X4 without the header every request is executed', async () => {
    const owner = await carillon.createAccount('without.test');
    const [one, other] = [
      await owner.carillon.events.create(EVENT_INPUT),
      await owner.carillon.events.create(EVENT_INPUT),
    ];
    assert.notEqual(one.event_id, other.event_id);
    const again = { idempotencyKey: 'sdk' };
    const first = await owner.carillon.events.create(EVENT_INPUT, again);
    assert.deepEqual(await owner.carillon.events.create(EVENT_INPUT, again), first);
  });

  test('X4 an idempotency key belongs to one API key: another one, also of the same user, executes its own request', async () => {
    const owner = await carillon.createAccount('whose.test');
    const otherOwner = await carillon.createAccount('whose-not.test');
    const responses: ApiResponse[] = [];
    for (const who of [
      owner,
      await carillon.createKey(owner, {}),
      await carillon.createUser(owner, 'member'),
      otherOwner,
    ]) {
      responses.push(await post(who, '/events', EVENT_INPUT, 'mine'));
    }
    assert.deepEqual(
      responses.map((response) => [response.status, isRepeated(response)]),
      Array(4).fill([201, false]),
    );
    assert.equal(new Set(responses.map(({ json }) => json.data.event_id)).size, 4);
  });

  test('X4 an idempotency key used for another body or path is 422, and nothing is executed', async () => {
    const owner = await carillon.createAccount('other.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'One' });
    const { project_id: second } = await owner.carillon.projects.create({ project_name: 'Two' });
    const first = await post(owner, `/tasks/${project_id}`, { task_name: 'Do' }, 'word');
    const before = await serializeTables(carillon);
    for (const [path, body] of [
      [`/tasks/${project_id}`, { task_name: 'Do not' }],
      [`/tasks/${project_id}`, {}],
      [`/tasks/${project_id}`, undefined],
      [`/tasks/${second}`, { task_name: 'Do' }],
      [`/subtasks/${project_id}`, { task_name: 'Do' }],
      ['/events', EVENT_INPUT],
    ] as const) {
      assert.deepEqual(statusAndCode(await post(owner, path, body, 'word')), [422, 'idempotency_mismatch'], path);
    }
    assert.equal(await serializeTables(carillon), before);
    assert.deepEqual(
      visibleParts(await post(owner, `/tasks/${project_id}`, { task_name: 'Do' }, 'word')),
      visibleParts(first),
    );
  });

  test('X4 rejected requests are not stored: the same idempotency key may be used for a corrected request', async () => {
    const owner = await carillon.createAccount('refused.test');
    const before = await storedResponses();
    assert.equal((await post(owner, '/events', {}, 'w')).status, 400);
    assert.equal((await post(owner, '/events', 'not json', 'w')).status, 400);
    assert.equal((await post(owner, '/events', { ...EVENT_INPUT, project_id: '99' }, 'w')).status, 404);
    assert.equal((await post(owner, '/tasks/99', { task_name: 'Do' }, 'w')).status, 404);
    const readOnly = await carillon.createKey(owner, { permissions: ['events:read'] });
    assert.equal((await post(readOnly, '/events', EVENT_INPUT, 'w')).status, 401);
    assert.equal(await storedResponses(), before);
    assert.equal((await post(owner, '/events', EVENT_INPUT, 'w')).status, 201);
    assert.equal(await storedResponses(), before + 1);
  });

  test('X4 an idempotency key is 1 to 255 visible characters, sent once; it is ignored where nothing is created', async () => {
    const owner = await carillon.createAccount('form.test');
    const credentials = [`key: ${owner.key}`, `domain: ${owner.domain}`, 'host: x'];
    const body = JSON.stringify(EVENT_INPUT);
    const raw = (...lines: string[]) =>
      sendRawRequest(
        carillon.baseUrl,
        ['POST /v2/events HTTP/1.1', ...credentials, `content-length: ${body.length}`, ...lines],
        body,
      );
    const before = await serializeTables(carillon);
    for (const lines of [
      ['Idempotency-Key:'],
      [`Idempotency-Key: ${'x'.repeat(256)}`],
      ['Idempotency-Key: two words'],
      ['Idempotency-Key: caf\u00e9'],
      ['Idempotency-Key: a', 'Idempotency-Key: a'],
      ['Idempotency-Key: a', 'idempotency-key: b'],
    ]) {
      const response = await raw(...lines);
      assert.equal(response.status, 400, lines.join());
      assert.deepEqual(
        JSON.parse(response.body).errors.map(({ field }: { field: string }) => field),
        ['Idempotency-Key'],
      );
    }
    assert.equal(await serializeTables(carillon), before);
    assert.equal((await raw(`Idempotency-Key: ${'x'.repeat(255)}`)).status, 201);
    assert.equal((await raw('Idempotency-Key: "!~"')).status, 201);
    const bad = { 'idempotency-key': 'two words' };
    assert.equal((await carillon.call(owner, 'GET', '/v2/events', undefined, bad)).status, 200);
  });

  test('X4 the response is stored for 24 hours, then the request is executed again', async () => {
    const owner = await carillon.createAccount('day.test');
    const began = now;
    const first = await post(owner, '/events', EVENT_INPUT, 'day');
    now = began + 24 * HOUR_MS - 1;
    assert.deepEqual(visibleParts(await post(owner, '/events', EVENT_INPUT, 'day')), visibleParts(first));
    now = began + 24 * HOUR_MS;
    const second = await post(owner, '/events', { ...EVENT_INPUT, event_name: 'Other' }, 'day');
    assert.deepEqual([second.status, isRepeated(second)], [201, false], 'also with another body');
    now += 23 * HOUR_MS;
    assert.deepEqual(
      visibleParts(await post(owner, '/events', { ...EVENT_INPUT, event_name: 'Other' }, 'day')),
      visibleParts(second),
    );

    const young = await post(owner, '/events', EVENT_INPUT, 'young');
    now = began + 48 * HOUR_MS;
    assert.ok((await deleteExpiredResponses(carillon.store, now)) > 0);
    const words = await carillon.store.read.selectFrom('idempotency').select('idempotency_key').execute();
    assert.deepEqual(
      words.map((row) => row.idempotency_key),
      ['young'],
      'what is still given again stays',
    );
    assert.deepEqual(visibleParts(await post(owner, '/events', EVENT_INPUT, 'young')), visibleParts(young));
    assert.equal(await deleteExpiredResponses(carillon.store, now), 0);
    now = began;
  });

  test('X4 X7 the secret of an issued key is returned once: it is neither stored nor repeated', async () => {
    const owner = await carillon.createAccount('secret.test');
    const first = await post(owner, '/keys', { label: 'new' }, 'key-1');
    const again = await post(owner, '/keys', { label: 'new' }, 'key-1');
    const { key, ...rest } = first.json.data;
    assert.match(key, /^carillon_/);
    assert.deepEqual([again.status, again.json.data, isRepeated(again)], [201, rest, true]);
    for (const name of ['location', 'etag']) assert.equal(again.headers.get(name), first.headers.get(name));
    assert.ok(!(await readAllBytes(carillon.database)).includes(key.slice('carillon_'.length)));
    assert.equal((await owner.carillon.keys.list()).paging.total_records, 2, 'one was issued');
  });

  /** Counts the records that any POST can create. A delivery is either pending or finalized. */
  async function countsOfRecords(): Promise<Readonly<Record<string, number>>> {
    const { read } = carillon.store;
    const counts: Record<string, number> = {};
    const records = ['events', 'clients', 'projects', 'tasks', 'subtasks', 'users', 'api_keys', 'hooks'] as const;
    for (const table of records) counts[table] = (await read.selectFrom(table).select('account_id').execute()).length;
    const pending = await read.selectFrom('pending_deliveries').select('delivery_id').execute();
    const finalized = await read.selectFrom('finalized_deliveries').select('delivery_id').execute();
    counts.deliveries = new Set([...pending, ...finalized].map((row) => row.delivery_id)).size;
    return counts;
  }

  /** Routes whose responses contain a secret, which is not stored. */
  const SHOWN_ONCE = ['POST /keys', 'POST /calendars', 'POST /hooks/{hook_id}/secret'];

  test('X4 every POST of the API is executed once', async () => {
    const target = await startTarget({ after });
    let hooks = 0;
    const targets = () => {
      hooks += 1;
      return target.urlOf(`/${hooks}`);
    };
    const posts = Object.entries(scenarios).filter(([name]) => name.startsWith('POST '));
    assert.ok(posts.length >= 10);
    for (const [index, [name, list]] of posts.entries()) {
      const owner = await carillon.createAccount(`every-${index}.test`);
      const fixture = { owner, ids: await createOneOfEach(owner, carillon, targets), targets };
      const [scenario] = list;
      await scenario?.before?.(fixture);
      const path = name
        .slice('POST '.length)
        .replace(/\{(\w+)\}/, (_, id: keyof typeof fixture.ids) => fixture.ids[id]);
      const body = scenario?.body?.(fixture);
      const { recorded, result } = await recordOccurrences(carillon, owner, async () => {
        const first = await post(owner, path, body, 'once');
        const before = await countsOfRecords();
        const again = await post(owner, path, body, 'once');
        assert.deepEqual(await countsOfRecords(), before, name);
        return [first, again] as const;
      });
      const [first, again] = result;
      assert.ok(first.status >= 200 && first.status < 300, `${name}: ${first.text}`);
      assert.deepEqual([again.status, isRepeated(first), isRepeated(again)], [first.status, false, true], name);
      assert.equal(again.headers.get('location'), first.headers.get('location'));
      if (!SHOWN_ONCE.includes(name)) assert.equal(again.text, first.text, name);
      assert.deepEqual(
        recorded.map(({ kind }) => kind),
        scenario?.occurrences,
        name,
      );
    }
  });

  test('X4 of concurrent duplicates one is executed, and all successful responses are the same', async () => {
    const owner = await carillon.createAccount('twins.test');
    const DUPLICATES = 12;
    for (let round = 1; round <= 5; round += 1) {
      const responses = await Promise.all(
        Array.from({ length: DUPLICATES }, () => post(owner, '/events', EVENT_INPUT, `round-${round}`)),
      );
      const made = responses.filter(({ status }) => status === 201);
      assert.equal(made.filter((one) => !isRepeated(one)).length, 1);
      assert.equal(new Set(made.map(({ text }) => text)).size, 1);
      const rest = responses.filter(({ status }) => status !== 201).map(statusAndCode);
      assert.deepEqual(rest, Array(DUPLICATES - made.length).fill([409, 'idempotency_in_progress']));
    }
    assert.equal((await owner.carillon.events.list()).paging.total_records, 5);
  });

  test('X4 a duplicate of a running request is 409, another request with its idempotency key 422; a repetition does no preparation', async (t) => {
    let lookups = 0;
    const { promise: resolved, resolve } = Promise.withResolvers<{ addresses: string[] }>();
    const service = await testService(t, {
      deps: {
        resolve: () => {
          lookups += 1;
          return resolved;
        },
      },
    });
    const owner = await service.createAccount('slow.test');
    const hook = { target_url: 'http://slow.example/bell', event: 'new_event' };
    const first = post(owner, '/hooks', hook, 'hook', service);
    await eventually(
      () => lookups,
      (count) => count === 1,
    );
    assert.deepEqual(statusAndCode(await post(owner, '/hooks', hook, 'hook', service)), [
      409,
      'idempotency_in_progress',
    ]);
    const other = { ...hook, event: 'new_task' };
    assert.deepEqual(statusAndCode(await post(owner, '/hooks', other, 'hook', service)), [422, 'idempotency_mismatch']);
    const colleague = await service.createUser(owner, 'member');
    const theirs = post(colleague, '/hooks', { ...hook, target_url: 'http://slow.example/theirs' }, 'hook', service);
    await eventually(
      () => lookups,
      (count) => count === 2,
    );
    resolve({ addresses: ['93.184.215.14'] });
    const made = await first;
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(visibleParts(await post(owner, '/hooks', hook, 'hook', service)), visibleParts(made));
    assert.equal((await theirs).status, 201, 'idempotency keys of other API keys are independent');
    assert.equal(lookups, 2, 'no name is resolved for a stored response');
    assert.equal((await owner.carillon.hooks.list()).paging.total_records, 1);
  });

  test('X4 a duplicate of a request that runs on another node is 409, and one that it completed meanwhile is not executed again', async () => {
    const { store } = carillon;
    const { account_id, key_id } = await store.read
      .selectFrom('api_keys')
      .select(['account_id', 'key_id'])
      .executeTakeFirstOrThrow();
    const once = { keyId: key_id, idempotencyKey: 'elsewhere', fingerprint: 'f' };
    let calls = 0;
    const make = (canLock: boolean, fingerprint = 'f') =>
      store.write((tx) => {
        const write = new AccountWrite(tx, account_id, now);
        const call = async () => {
          calls += 1;
          return { body: { data: { call: calls } }, createdPath: '/events/7' };
        };
        const transaction = canLock ? tx : { ...tx, tryLock: async () => false };
        return runOnce(transaction, write, { ...once, fingerprint }, 201, call, (body) => body);
      });
    await assert.rejects(make(false), { code: 'idempotency_in_progress' });
    assert.equal(calls, 0);
    const first = await make(true);
    assert.deepEqual(await make(true), { ...first, replayedStatus: 201 });
    await assert.rejects(make(true, 'g'), { code: 'idempotency_mismatch' });
    assert.equal(calls, 1);
  });

  test('X4 the record and the stored response are written in one transaction: neither exists without the other', async (t) => {
    const service = await testService(t);
    const owner = await service.createAccount('atomic.test');
    assert.equal((await post(owner, '/events', EVENT_INPUT, 'first', service)).status, 201);
    // With this index, no second response with the same status can be stored.
    await service.store.write(({ queries }) =>
      sql`create unique index in_the_way on idempotency (status)`.execute(queries),
    );
    const before = await serializeTables(service);
    assert.equal((await post(owner, '/events', EVENT_INPUT, 'second', service)).status, 500);
    assert.equal(await serializeTables(service), before, 'the event was not created either');
    assert.equal(await storedResponses(service), 1);
  });
}

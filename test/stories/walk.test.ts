import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type Permission, permissions } from '../../src/access.ts';
import { systemClock } from '../../src/clock.ts';
import type { JsonSchema } from '../../src/http/fields.ts';
import { idNames, type Route } from '../../src/http/route.ts';
import { createLog } from '../../src/log.ts';
import { allRoutes } from '../../src/resources/index.ts';
import { systemChance } from '../../src/secrets.ts';
import { eventually } from '../harness/eventually.ts';
import { furnish, type Ids } from '../harness/furnished.ts';
import { judgeBy, operationsOf, shapeOf, structuralFaults } from '../harness/openapi.ts';
import type { Answer, Person } from '../harness/service.ts';
import { stores } from '../harness/stores.ts';
import { startTarget } from '../harness/target.ts';
import { type Scenario, type Stage, scenarios } from './walk.scenarios.ts';

for (const { test, testService } of stores) {
  /** Every row of the interface, as the service mounts them: a new row is walked, or fails here. */
  const rows = allRoutes({
    guard: { judge: async () => ({ failure: 'no_such_name' }) },
    chance: systemChance,
    log: createLog('silent'),
    baseUrl: () => '',
  });
  const nameOf = (row: Route) => `${row.method} ${row.path}`;

  /** No id of any noun: none of them counts so far. */
  const NEVER_ISSUED = '9007199254740991';

  const carillon = await testService({ after });
  const target = await startTarget({ after });
  const judge = judgeBy((await carillon.call(undefined, 'GET', '/openapi.json')).json);
  let hooks = 0;
  let accounts = 0;
  /** What was answered, by row: 200, 404, … */
  const seen = new Map<string, Set<number>>();

  /** An address that no hook has yet. */
  function targets(): string {
    hooks += 1;
    return target.at(`/hook-${hooks}`);
  }

  async function newStage(): Promise<Stage> {
    accounts += 1;
    const owner = await carillon.account(`walk-${accounts}.test`);
    const ids = await furnish(owner, carillon, targets);
    // Its test has had its answer: from here on nothing changes by itself.
    await eventually(
      () => owner.carillon.deliveries.get(ids.delivery_id),
      ({ state }) => state !== 'owed',
    );
    return { owner, ids, targets };
  }

  /** Calls a row, and holds what it answers against the document. */
  async function ask(
    row: Route,
    who: Person | undefined,
    ids: Readonly<Record<string, string>>,
    body?: Readonly<Record<string, unknown>>,
    query = '',
  ): Promise<Answer> {
    const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const id = ids[name];
      assert.ok(id !== undefined, `${nameOf(row)}: the walk knows no ${name}; give furnished accounts one`);
      return id;
    });
    const answer = await carillon.call(who, row.method, `/v2${path}${query}`, body);
    const { status, json, headers } = answer;
    const fault = judge({
      method: row.method,
      path: `/v2${row.path}`,
      status,
      contentType: headers.get('content-type'),
      body: json,
    });
    assert.equal(fault, undefined);
    seen.set(nameOf(row), (seen.get(nameOf(row)) ?? new Set()).add(status));
    return answer;
  }

  /** Everything that a caller can compare two answers by. */
  function bytesOf({ status, headers, text }: Answer): unknown {
    const told = [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
    return { status, headers: told, text };
  }

  async function accountOf({ domain }: Person): Promise<number> {
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', domain)
      .executeTakeFirstOrThrow();
    return account_id;
  }

  /** What has been recorded in an account behind a position, in order, and where the account stands. */
  async function recordedAfter(who: Person, position: number) {
    const accountId = await accountOf(who);
    const occurrences = await carillon.store.read
      .selectFrom('occurrences')
      .select(['position', 'kind'])
      .where('account_id', '=', accountId)
      .where('position', '>', position)
      .orderBy('position')
      .execute();
    const stands = await carillon.store.read
      .selectFrom('positions')
      .select('position')
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    return { occurrences: occurrences.map((row) => ({ ...row })), position: stands.position };
  }

  test('C3 the walk knows how to call every row with success, and calls nothing else', () => {
    assert.deepEqual(Object.keys(scenarios).sort(), rows.map(nameOf).sort());
  });

  test('X6 the document is a structurally valid OpenAPI 3.1, of every row and nothing else', async () => {
    const answer = await carillon.call(undefined, 'GET', '/openapi.json');
    assert.equal(answer.status, 200);
    assert.deepEqual(structuralFaults(answer.json), []);
    const documented = operationsOf(answer.json).map(({ method, path }) => `${method} ${shapeOf(path)}`);
    assert.deepEqual(documented.sort(), rows.map((row) => `${row.method} /v2${shapeOf(row.path)}`).sort());
  });

  test('C1 every row answers 401 to whoever has no good key, byte for byte the same', async () => {
    const { owner, ids } = await newStage();
    const stranger = await carillon.account('stranger.test');
    const revoked = await carillon.key(owner, {});
    await carillon.store.write(({ queries }) =>
      queries.updateTable('api_keys').set({ revoked_at: 1 }).where('label', '=', 'test').execute(),
    );
    const gone = await carillon.user(owner, 'admin');
    await owner.carillon.users.delete(gone.userId);
    const expired = await carillon.key(owner, { expiresAt: systemClock.now() - 1 });
    const { domain, key } = owner;
    const headers: Record<string, Record<string, string>> = {
      nothing: {},
      'no domain': { key },
      'no key': { domain },
      'an unknown key': { domain, key: `carillon_${'x'.repeat(43)}` },
      "another account's domain": { domain: stranger.domain, key },
      'an unknown domain': { domain: 'nowhere.test', key },
      'a revoked key': revoked.headers,
      'an expired key': expired.headers,
      "a deleted user's key": gone.headers,
    };
    const wanted = bytesOf(await carillon.call(undefined, 'GET', '/v2/nowhere'));
    for (const row of rows) {
      for (const [what, given] of Object.entries(headers)) {
        const answer = await ask(row, { ...owner, headers: given }, { ...ids }, bodyFor(row));
        assert.equal(answer.json.code, 'unauthorized', `${nameOf(row)} with ${what}`);
        assert.deepEqual(bytesOf(answer), wanted, `${nameOf(row)} with ${what}`);
      }
    }
  });

  /** A body where a row takes one; it need not be a good one. */
  const bodyFor = (row: Route) => (row.body === undefined ? undefined : {});

  test('C2 every row that names a permission answers 401 not_permitted to a key without it', async () => {
    const { owner, ids } = await newStage();
    const without = new Map<Permission, Person>();
    for (const lacking of permissions) {
      const others = permissions.filter((permission) => permission !== lacking);
      without.set(lacking, await carillon.key(owner, { permissions: others }));
    }
    const { position } = await recordedAfter(owner, 0);
    for (const row of rows) {
      if (row.permission === undefined) continue;
      for (const [id, on] of [
        ['its own', ids],
        ['never issued', neverIssued(row)],
      ] as const) {
        const answer = await ask(row, without.get(row.permission), on, bodyFor(row));
        assert.equal(answer.status, 401, `${nameOf(row)}, ids ${id}`);
        assert.equal(answer.json.code, 'not_permitted', `${nameOf(row)}, ids ${id}`);
      }
    }
    assert.equal((await recordedAfter(owner, 0)).position, position);
    const keyless = rows.filter((row) => row.permission === undefined).map(nameOf);
    assert.deepEqual(keyless, ['GET /user']);
  });

  function neverIssued(row: Route): Record<string, string> {
    return Object.fromEntries(idNames(row.path).map((name) => [name, NEVER_ISSUED]));
  }

  for (const row of rows) {
    for (const scenario of scenarios[nameOf(row)] ?? []) {
      test(`C8 ${nameOf(row)} ${scenario.says} and records exactly what it states`, () => succeed(row, scenario));
    }
  }

  async function succeed(row: Route, scenario: Scenario): Promise<void> {
    const stage = await newStage();
    await scenario.before?.(stage);
    const { position: before } = await recordedAfter(stage.owner, 0);
    // The narrowest key that will do: what a row says it needs is all that it needs.
    const needed = [...(row.permission === undefined ? [] : [row.permission]), ...(scenario.also ?? [])];
    const caller = await carillon.key(stage.owner, { permissions: needed });
    const answer = await ask(row, caller, { ...stage.ids }, scenario.body?.(stage));
    assert.equal(answer.status, row.status, answer.text);
    if (row.status === 201)
      assert.match(String(answer.headers.get('location')), /^http:\/\/127\.0\.0\.1:\d+\/v2\/\w+\/\d+$/);
    if (row.method === 'DELETE') assert.equal(answer.text, '[]');

    const { occurrences, position } = await recordedAfter(stage.owner, before);
    assert.deepEqual(
      occurrences,
      scenario.records.map((kind, index) => ({ position: before + 1 + index, kind })),
    );
    assert.equal(position, before + scenario.records.length);
  }

  test('C14 every row states the occurrences that it records: no more and no fewer than its scenarios see', () => {
    for (const row of rows) {
      const recorded = new Set((scenarios[nameOf(row)] ?? []).flatMap((scenario) => scenario.records));
      assert.deepEqual([...recorded].sort(), [...row.records].sort(), nameOf(row));
      if (row.mode === 'read') assert.deepEqual(row.records, [], nameOf(row));
    }
  });

  test("C3 another account's id is answered byte for byte as an id never issued, wherever an id can stand", async (t) => {
    const other = await newStage();
    const otherBefore = await snapshotOf(other.owner);
    const foreign: Ids = other.ids;
    let places = 0;
    for (const row of rows) {
      const stage = await newStage();
      const [scenario] = scenarios[nameOf(row)] ?? [];
      await scenario?.before?.(stage);
      const body = scenario?.body?.(stage);
      const { position } = await recordedAfter(stage.owner, 0);
      for (const place of placesOf(row)) {
        const [theirs, nobodys] = [await place.ask(stage, body, foreign), await place.ask(stage, body)];
        const where = `${nameOf(row)}: ${place.says}`;
        assert.deepEqual(bytesOf(theirs), bytesOf(nobodys), where);
        if (place.in === 'query') assert.deepEqual([theirs.status, theirs.json.data], [200, []], where);
        else assert.deepEqual([theirs.status, theirs.json.code], [404, 'not_found'], where);
        places += 1;
      }
      assert.equal((await recordedAfter(stage.owner, 0)).position, position, `${nameOf(row)}: something was recorded`);
    }
    assert.deepEqual(await snapshotOf(other.owner), otherBefore);
    t.diagnostic(`${places} places`);
    assert.ok(places >= 50);
  });

  type Place = {
    readonly says: string;
    readonly in: 'path' | 'body' | 'query';
    /** Asks with the foreign account's id in this place, or with one never issued. */
    ask(stage: Stage, body: Record<string, unknown> | undefined, foreign?: Ids): Promise<Answer>;
  };

  /** Every place of a row in which an id can stand. */
  function placesOf(row: Route): Place[] {
    const inPath = idNames(row.path).map(
      (name): Place => ({
        says: `${name} in the path`,
        in: 'path',
        ask: (stage, body, foreign) => ask(row, stage.owner, { ...stage.ids, [name]: idOf(name, foreign) }, body),
      }),
    );
    const inBody = bodyReferences(row).map(
      ({ name, wrap }): Place => ({
        says: `${name} in the body`,
        in: 'body',
        ask: (stage, body, foreign) =>
          ask(row, stage.owner, { ...stage.ids }, { ...body, [name]: wrap(idOf(name, foreign)) }),
      }),
    );
    const inQuery = Object.keys(row.parameters)
      .filter((name) => row.parameters[name]?.schema.pattern === '^\\d+$')
      .map(
        (name): Place => ({
          says: `${name} in the query`,
          in: 'query',
          ask: (stage, _body, foreign) =>
            ask(row, stage.owner, { ...stage.ids }, undefined, `?${name}=${idOf(name, foreign)}`),
        }),
      );
    return [...inPath, ...inBody, ...inQuery];
  }

  function bodyReferences(row: Route): { name: string; wrap: (id: string) => unknown }[] {
    const properties = Object.entries((row.body?.properties ?? {}) as Record<string, JsonSchema>);
    return properties.flatMap(([name, { format, items }]): { name: string; wrap: (id: string) => unknown }[] => {
      if (format === 'id' || format === 'id-or-none') return [{ name, wrap: (id: string) => id }];
      const listed = typeof items === 'object' && items !== null && 'format' in items && items.format === 'id';
      return listed ? [{ name, wrap: (id: string) => [id] }] : [];
    });
  }

  function idOf(name: string, foreign: Ids | undefined): string {
    if (foreign === undefined) return NEVER_ISSUED;
    const id = (foreign as Readonly<Record<string, string>>)[name === 'users' ? 'user_id' : name];
    assert.ok(id !== undefined, `the walk has no foreign ${name}; give furnished accounts one`);
    return id;
  }

  /** Everything that an account can read of itself, as its owner reads it. */
  async function snapshotOf(owner: Person): Promise<unknown> {
    const lists = rows.filter((row) => row.method === 'GET' && idNames(row.path).length === 0);
    const answers = await Promise.all(lists.map((row) => carillon.call(owner, 'GET', `/v2${row.path}`)));
    const { occurrences } = await recordedAfter(owner, 0);
    return { occurrences, answers: answers.map(({ status, json }) => ({ status, data: withoutUse(json.data) })) };
  }

  /** When a key was last used changes by looking. */
  function withoutUse(data: unknown): unknown {
    return JSON.parse(JSON.stringify(data), (name, value) => (name === 'last_used' ? undefined : value));
  }

  test('C3 an account that has nothing reads nothing of the others', async () => {
    const lonely = await carillon.account('lonely.test');
    const lists = rows.filter((row) => 'offset' in row.parameters);
    for (const row of lists) {
      const { json } = await ask(row, lonely, {});
      const own = ['/users', '/keys'].includes(row.path) ? 1 : 0;
      assert.equal(json.paging.total_records, own, nameOf(row));
      assert.equal(json.data.length, own, nameOf(row));
    }
    assert.equal(lists.length, 10);
  });

  test('X6 every row was seen to succeed and to fail, and every answer was as the document says', () => {
    for (const row of rows) {
      const statuses = [...(seen.get(nameOf(row)) ?? [])];
      assert.ok(statuses.includes(row.status), `${nameOf(row)} was never seen to succeed`);
      assert.ok(statuses.includes(401), `${nameOf(row)} was never seen to fail`);
    }
  });
}

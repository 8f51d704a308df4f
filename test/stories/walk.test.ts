import assert from 'node:assert/strict';
import { after } from 'node:test';
import { idNames, type Route } from '../../src/http/routes/route.ts';
import { createLog } from '../../src/log.ts';
import { type Permission, permissions } from '../../src/permissions.ts';
import { allRoutes } from '../../src/resources/index.ts';
import { systemRandom } from '../../src/secrets.ts';
import { eventually } from '../kit/eventually.ts';
import { furnish } from '../kit/furnished-account.ts';
import { judgeBy, operationsOf, shapeOf, structuralFaults } from '../kit/openapi.ts';
import type { Answer, Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';
import { type Scenario, type Stage, scenarios } from './walk.scenarios.ts';

for (const { test, testService } of stores) {
  /** Every row of the interface, as the service mounts them: a new row is walked, or fails here. */
  const rows = allRoutes({
    guard: { check: async () => ({ failure: 'no_such_name' }) },
    random: systemRandom,
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
      ({ state }) => state !== 'pending',
    );
    return { owner, ids, targets };
  }

  /** Calls a row, and holds what it answers against the document. */
  async function ask(
    row: Route,
    who: Person | undefined,
    ids: Readonly<Record<string, string>>,
    body?: Readonly<Record<string, unknown>> | string,
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

  /** A body where a row takes one, and a query: neither is looked at before the key is. */
  const bodyFor = (row: Route) => (row.body === undefined ? undefined : '{');

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
        const answer = await ask(row, without.get(row.permission), on, bodyFor(row), '?limit=x');
        assert.equal(answer.status, 401, `${nameOf(row)}, ids ${id}`);
        assert.equal(answer.json.code, 'not_permitted', `${nameOf(row)}, ids ${id}`);
      }
    }
    assert.equal((await recordedAfter(owner, 0)).position, position);
    const keyless = rows.filter((row) => row.permission === undefined);
    assert.deepEqual(keyless.map(nameOf), ['GET /user']);
    for (const row of keyless) assert.equal((await ask(row, undefined, {})).json.code, 'unauthorized');
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

  test('X6 every row was seen to succeed and to fail, and every answer was as the document says', () => {
    for (const row of rows) {
      const statuses = [...(seen.get(nameOf(row)) ?? [])];
      assert.ok(statuses.includes(row.status), `${nameOf(row)} was never seen to succeed`);
      assert.ok(statuses.includes(401), `${nameOf(row)} was never seen to fail`);
    }
  });
}

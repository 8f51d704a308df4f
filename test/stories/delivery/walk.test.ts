import assert from 'node:assert/strict';
import { after } from 'node:test';
import { idNamesOf, type Route } from '../../../src/http/routes/route.ts';
import { createLog } from '../../../src/log.ts';
import { type Permission, permissions } from '../../../src/permissions.ts';
import { createApiRoutes } from '../../../src/resources/index.ts';
import { systemRandom } from '../../../src/secrets.ts';
import { createOneOfEach } from '../../kit/api/furnished-account.ts';
import { createResponseCheck, findStructuralViolations, operationsOf, shapeOf } from '../../kit/api/openapi.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import type { ApiResponse, ApiUser } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';
import { type Scenario, type ScenarioFixture, scenarios } from './walk.scenarios.ts';

for (const { test, testService } of everyStore) {
  /** Every route of the API, as the service mounts them. A new route must have a scenario. */
  const rows = createApiRoutes({
    guard: { checkTarget: async () => ({ failure: 'no_such_name' }) },
    random: systemRandom,
    log: createLog('silent'),
    baseUrl: () => '',
  });
  const nameOf = (row: Route) => `${row.method} ${row.path}`;

  /** An id that no resource has issued. */
  const NEVER_ISSUED = '9007199254740991';

  const carillon = await testService({ after });
  const target = await startTarget({ after });
  const checkResponse = createResponseCheck((await carillon.call(undefined, 'GET', '/openapi.json')).json);
  let hooks = 0;
  let accounts = 0;
  /** The statuses with which each route has responded so far. */
  const observed = new Map<string, Set<number>>();

  /** Returns a new target URL. */
  function targets(): string {
    hooks += 1;
    return target.urlOf(`/hook-${hooks}`);
  }

  async function newFixture(): Promise<ScenarioFixture> {
    accounts += 1;
    const owner = await carillon.createAccount(`walk-${accounts}.test`);
    const ids = await createOneOfEach(owner, carillon, targets);
    // Wait until the hook test has finished, so that nothing changes in the background afterwards.
    await eventually(
      () => owner.carillon.deliveries.get(ids.delivery_id),
      ({ state }) => state !== 'pending',
    );
    return { owner, ids, targets };
  }

  /** Calls a route and checks the response against the OpenAPI document. */
  async function callRoute(
    row: Route,
    who: ApiUser | undefined,
    ids: Readonly<Record<string, string>>,
    body?: Readonly<Record<string, unknown>> | string,
    query = '',
  ): Promise<ApiResponse> {
    const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const id = ids[name];
      assert.ok(id !== undefined, `${nameOf(row)}: the walk knows no ${name}; give furnished accounts one`);
      return id;
    });
    const response = await carillon.call(who, row.method, `/v2${path}${query}`, body);
    const { status, json, headers } = response;
    const fault = checkResponse({
      method: row.method,
      path: `/v2${row.path}`,
      status,
      contentType: headers.get('content-type'),
      body: json,
    });
    assert.equal(fault, undefined);
    observed.set(nameOf(row), (observed.get(nameOf(row)) ?? new Set()).add(status));
    return response;
  }

  async function accountOf({ domain }: ApiUser): Promise<number> {
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', domain)
      .executeTakeFirstOrThrow();
    return account_id;
  }

  /** Returns the occurrences of an account after a position, in order, and its current position. */
  async function recordedAfter(who: ApiUser, position: number) {
    const accountId = await accountOf(who);
    const occurrences = await carillon.store.read
      .selectFrom('occurrences')
      .select(['position', 'kind'])
      .where('account_id', '=', accountId)
      .where('position', '>', position)
      .orderBy('position')
      .execute();
    const account = await carillon.store.read
      .selectFrom('positions')
      .select('position')
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    return { occurrences: occurrences.map((row) => ({ ...row })), position: account.position };
  }

  test('C3 there are scenarios for every route, and for no other', () => {
    assert.deepEqual(Object.keys(scenarios).sort(), rows.map(nameOf).sort());
  });

  test('X6 the OpenAPI document is structurally valid and has exactly the routes', async () => {
    const response = await carillon.call(undefined, 'GET', '/openapi.json');
    assert.equal(response.status, 200);
    assert.deepEqual(findStructuralViolations(response.json), []);
    const documented = operationsOf(response.json).map(({ method, path }) => `${method} ${shapeOf(path)}`);
    assert.deepEqual(documented.sort(), rows.map((row) => `${row.method} /v2${shapeOf(row.path)}`).sort());
  });

  /** Returns an invalid body. The tests send it with an invalid query: neither is read before the key is checked. */
  const bodyFor = (row: Route) => (row.bodySchema === undefined ? undefined : '{');

  test('C2 every route with a permission returns 401 not_permitted to a key without it', async () => {
    const { owner, ids } = await newFixture();
    const keysWithout = new Map<Permission, ApiUser>();
    for (const lacking of permissions) {
      const others = permissions.filter((permission) => permission !== lacking);
      keysWithout.set(lacking, await carillon.createKey(owner, { permissions: others }));
    }
    const { position } = await recordedAfter(owner, 0);
    for (const row of rows) {
      if (row.permission === undefined) continue;
      for (const [id, on] of [
        ['its own', ids],
        ['never issued', neverIssuedIds(row)],
      ] as const) {
        const response = await callRoute(row, keysWithout.get(row.permission), on, bodyFor(row), '?limit=x');
        assert.equal(response.status, 401, `${nameOf(row)}, ids ${id}`);
        assert.equal(response.json.code, 'not_permitted', `${nameOf(row)}, ids ${id}`);
      }
    }
    assert.equal((await recordedAfter(owner, 0)).position, position);
    const keyless = rows.filter((row) => row.permission === undefined);
    assert.deepEqual(keyless.map(nameOf), ['GET /user']);
    for (const row of keyless) assert.equal((await callRoute(row, undefined, {})).json.code, 'unauthorized');
  });

  function neverIssuedIds(row: Route): Record<string, string> {
    return Object.fromEntries(idNamesOf(row.path).map((name) => [name, NEVER_ISSUED]));
  }

  for (const row of rows) {
    for (const scenario of scenarios[nameOf(row)] ?? []) {
      test(`C8 ${nameOf(row)} ${scenario.description} and records exactly the stated occurrences`, () =>
        assertSucceeds(row, scenario));
    }
  }

  async function assertSucceeds(row: Route, scenario: Scenario): Promise<void> {
    const fixture = await newFixture();
    await scenario.before?.(fixture);
    const { position: before } = await recordedAfter(fixture.owner, 0);
    // The key has exactly the permissions that the route states, because the call must not need any other permission.
    const needed = [
      ...(row.permission === undefined ? [] : [row.permission]),
      ...(scenario.additionalPermissions ?? []),
    ];
    const caller = await carillon.createKey(fixture.owner, { permissions: needed });
    const response = await callRoute(row, caller, { ...fixture.ids }, scenario.body?.(fixture));
    assert.equal(response.status, row.status, response.text);
    if (row.status === 201)
      assert.match(String(response.headers.get('location')), /^http:\/\/127\.0\.0\.1:\d+\/v2\/\w+\/\d+$/);
    if (row.method === 'DELETE') assert.equal(response.text, '[]');

    const { occurrences, position } = await recordedAfter(fixture.owner, before);
    assert.deepEqual(
      occurrences,
      scenario.occurrences.map((kind, index) => ({ position: before + 1 + index, kind })),
    );
    assert.equal(position, before + scenario.occurrences.length);
  }

  test('C14 every route states exactly the occurrences that its scenarios record', () => {
    for (const row of rows) {
      const recorded = new Set((scenarios[nameOf(row)] ?? []).flatMap((scenario) => scenario.occurrences));
      assert.deepEqual([...recorded].sort(), [...row.recordedKinds].sort(), nameOf(row));
      if (row.mode === 'read') assert.deepEqual(row.recordedKinds, [], nameOf(row));
    }
  });

  test('X6 every route succeeded and failed at least once, and every response matched the document', () => {
    for (const row of rows) {
      const statuses = [...(observed.get(nameOf(row)) ?? [])];
      assert.ok(statuses.includes(row.status), `${nameOf(row)} was never observed to succeed`);
      assert.ok(statuses.includes(401), `${nameOf(row)} was never observed to fail`);
    }
  });
}

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createTestClock } from '../../kit/clock.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { eventually, eventuallyAfterSteps } from '../../kit/eventually.ts';
import { userAtNode } from '../../kit/service/nodes.ts';
import type { ApiResponse, ApiUser, TestService } from '../../kit/service/service.ts';
import { everyStore, sharedStores } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const FEED = '/v2/notifications';

  /** Starts a service with a test clock, which shows pending waits. */
  async function startFixture(t: TestContext, options: Readonly<Record<string, string>> = {}) {
    const clock = createTestClock();
    const carillon = await testService(t, { deps: { clock }, options });
    const owner = await carillon.createAccount('acme.test');
    const poll = (who: ApiUser, query: string) => carillon.call(who, 'GET', `${FEED}?${query}`);
    /** Returns the number of waiting requests whose maximum wait is `waitMs`. */
    const countWaiting = (waitMs: number) => clock.remainingDelaysMs.filter((pending) => pending === waitMs).length;
    const waitForWaiting = (count: number, waitMs = 30_000) =>
      eventually(
        () => countWaiting(waitMs),
        (found) => found === count,
      );
    return { clock, carillon, owner, poll, waits: waitForWaiting };
  }

  const kindsIn = ({ status, json }: ApiResponse) => [
    status,
    json.data?.map(({ kind }: { kind: string }) => kind),
    json.next,
  ];

  /** Adds an occurrence without a notification, as if another node had committed it and its notification were lost. */
  async function insertWithoutNotification({ store }: TestService, owner: ApiUser): Promise<void> {
    await store.write(async ({ queries }) => {
      const { account_id, position } = await queries
        .updateTable('positions')
        .set(({ eb }) => ({ position: eb('position', '+', 1) }))
        .where('account_id', 'in', (from) =>
          from.selectFrom('accounts').select('account_id').where('domain', '=', owner.domain),
        )
        .returning(['account_id', 'position'])
        .executeTakeFirstOrThrow();
      const user_id = Number(owner.userId);
      await queries
        .insertInto('occurrences')
        .values({ account_id, position, kind: 'new_client', user_id, record_id: 1, occurred_at: 0 })
        .execute();
    });
  }

  test('X2 wait: existing occurrences are returned immediately', async (t) => {
    const { clock, owner, poll } = await startFixture(t);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn(await poll(owner, 'wait=30')), [200, ['new_client'], '1']);
    assert.deepEqual(clock.remainingDelaysMs.filter((pending) => pending === 30_000).length, 0, 'nothing waits');
  });

  test('X2 wait: a request waits until something happens, and returns it', async (t) => {
    const { owner, poll, waits, carillon } = await startFixture(t);
    const otherOwner = await carillon.createAccount('other.test');
    const response = poll(owner, 'after=0&wait=30');
    await waits(1);
    await otherOwner.carillon.clients.create({ client_name: 'Theirs' });
    await waits(1);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn(await response), [200, ['new_client'], '1']);
    await waits(0);
  });

  test('X2 wait: at the end of its time a request returns an empty page, with the cursor after the omitted occurrences', async (t) => {
    const { clock, carillon, owner, poll, waits } = await startFixture(t);
    const member = await carillon.createUser(owner, 'member');
    const response = poll(member, 'after=0&wait=99');
    await waits(1);
    await owner.carillon.clients.create({ client_name: 'By another' });
    await waits(1);
    await clock.advance(29_999);
    assert.equal(await Promise.race([response, 'still waiting']), 'still waiting');
    await clock.advance(1);
    assert.deepEqual(kindsIn(await response), [200, [], '1']);
  });

  test('X2 wait: an occurrence whose notification is lost is returned within a second', async (t) => {
    const { clock, carillon, owner, poll, waits } = await startFixture(t);
    const response = poll(owner, 'wait=30');
    await waits(1);
    await insertWithoutNotification(carillon, owner);
    const { status, json } = await eventuallyAfterSteps(
      () => clock.advance(250),
      () => Promise.race([response, undefined]),
      (one) => one !== undefined,
    ).then((one) => one ?? assert.fail());
    assert.deepEqual([status, json.data.length, json.next], [200, 1, '1']);
    assert.ok(clock.monotonic() <= 5_000, `${clock.monotonic()} ms of its time`);
  });

  test('X2 wait: waiting requests occupy no request slot and no database connection', async (t) => {
    const { clock, owner, poll, waits, carillon } = await startFixture(t, { maxRequests: '5' });
    const WAITING = 200;
    const responses: Promise<ApiResponse>[] = [];
    // Send the requests in small groups, because each request occupies a slot until it waits.
    for (let count = 1; count <= WAITING; count += 1) {
      responses.push(poll(owner, 'wait=30'));
      if (count % 5 === 0) await waits(count);
    }
    for (let count = 1; count <= 20; count += 1) {
      assert.equal((await carillon.call(owner, 'GET', '/v2/user')).status, 200);
    }
    // Advance by more than the usual request timeout, which must not abort a waiting request.
    await clock.advance(29_000);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    for (const response of await Promise.all(responses))
      assert.deepEqual(kindsIn(response), [200, ['new_client'], '1']);
  });

  test('X2 wait: above --max-followers, and above a quarter of it per account, 503; slots are released', async (t) => {
    const { owner, poll, waits, carillon } = await startFixture(t, { maxFollowers: '4' });
    const others = await Promise.all(['b', 'c', 'd', 'e'].map((name) => carillon.createAccount(`${name}.test`)));
    const refused = async (who: ApiUser) => {
      const { status, json, headers } = await poll(who, 'wait=30');
      assert.deepEqual([status, json.code, headers.get('retry-after')], [503, 'overloaded', '1']);
    };
    const waiting = [poll(owner, 'wait=30')];
    await waits(1);
    await refused(owner);
    assert.equal((await poll(owner, '')).status, 200, 'a request without a wait needs no slot');
    for (const other of others.slice(0, 3)) waiting.push(poll(other, 'wait=30'));
    await waits(4);
    await refused(others[3] ?? owner);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn((await waiting[0]) ?? assert.fail()), [200, ['new_client'], '1']);
    waiting.push(poll(owner, 'after=1&wait=30'));
    await waits(4);
    for (const who of [owner, ...others]) await who.carillon.clients.create({ client_name: 'end' });
    for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
  });

  test('X2 wait: a client that disconnects releases its slot', async (t) => {
    const { owner, carillon, waits } = await startFixture(t, { maxFollowers: '1' });
    const abort = new AbortController();
    const url = `${carillon.baseUrl}${FEED}?wait=30`;
    const gone = fetch(url, { headers: owner.headers, signal: abort.signal });
    await waits(1);
    abort.abort();
    await assert.rejects(gone);
    await waits(0);
    const next = fetch(url, { headers: owner.headers });
    await waits(1);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.equal((await next).status, 200);
  });

  test('X2 wait: at shutdown every waiting request returns immediately, with an empty page', async (t) => {
    const { owner, poll, waits, carillon } = await startFixture(t);
    const responses = [poll(owner, 'wait=30'), poll(owner, 'after=0&wait=30&scope=account')];
    await waits(2);
    const stopping = carillon.stop();
    for (const response of await Promise.all(responses)) {
      assert.deepEqual(kindsIn(response), [200, [], '0']);
      assert.equal(response.headers.get('connection'), 'close');
    }
    await stopping;
  });

  test('C1 X2 wait: a key that is revoked during the wait reads nothing more', async (t) => {
    const { owner, poll, waits, carillon } = await startFixture(t);
    const key = await carillon.createKey(owner, {});
    const { data } = await owner.carillon.keys.list();
    const response = poll(key, 'wait=30');
    await waits(1);
    await owner.carillon.keys.revoke(data.at(-1)?.id ?? '');
    const { status, json } = await response;
    assert.deepEqual([status, json.code], [401, 'unauthorized']);
  });
}

for (const { test, testService, database: newDatabase } of sharedStores) {
  const NODES = 3;
  const WRITERS = 4;
  const EVENTS = 40;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  test('X2 three nodes write to one account concurrently: positions have no gaps, and followers at every node read them in order', async (t) => {
    const database = await newDatabase(t);
    const nodes = await Promise.all(Array.from({ length: NODES }, () => testService(t, { database })));
    const [first] = nodes;
    if (first === undefined) throw new Error('no node');
    const owner = await first.createAccount('acme.test');
    const people = nodes.map((node) => userAtNode(node, owner));
    const total = NODES * WRITERS * EVENTS;

    // Each follower reads small pages with a wait while the writers create events.
    const following = people.map(async ({ carillon }) => {
      const seen: number[] = [];
      for (let after = '0'; seen.length < total; ) {
        const { data, next } = await carillon.notifications.list({ after, limit: 7, wait: 5 });
        seen.push(...data.map((entry) => Number(entry.cursor)));
        after = next;
      }
      return seen;
    });
    const writers = people.flatMap(({ carillon }) =>
      Array.from({ length: WRITERS }, async () => {
        const ids: string[] = [];
        for (let count = 0; count < EVENTS; count += 1) ids.push((await carillon.events.create(event)).event_id);
        return ids;
      }),
    );
    const ids = (await Promise.all(writers)).flat();
    const expected = Array.from({ length: total }, (_, index) => index + 1);
    for (const seen of await Promise.all(following)) assert.deepEqual(seen, expected);

    const { read } = await openStoreAt(t, database, { openAs: 'command' });
    const rows = await read
      .selectFrom('occurrences')
      .select(['position', 'record_id', 'occurred_at'])
      .orderBy('position')
      .execute();
    assert.deepEqual(
      rows.map((row) => row.position),
      expected,
    );
    assert.deepEqual(rows.map((row) => String(row.record_id)).sort(), ids.sort(), 'each event occurs once');
    const times = rows.map((row) => row.occurred_at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      'times of an account never decrease',
    );
  });

  test('X2 rejected and rolled-back requests at any node take no position', async (t) => {
    const database = await newDatabase(t);
    const nodes = await Promise.all(Array.from({ length: NODES }, () => testService(t, { database })));
    const [first] = nodes;
    if (first === undefined) throw new Error('no node');
    const owner = await first.createAccount('acme.test');
    const people = nodes.map((node) => userAtNode(node, owner));
    const { event_id: doomed } = await owner.carillon.events.create(event);
    // Exactly one of these deletions succeeds. The other deletions find no record after their transaction has begun.
    const deleted = await Promise.all(
      [...people, ...people, ...people].map(({ carillon }) =>
        carillon.events.delete(doomed).then(
          () => 'deleted',
          (error: { code: string }) => error.code,
        ),
      ),
    );
    assert.deepEqual(
      deleted.filter((one) => one !== 'not_found'),
      ['deleted'],
    );
    await Promise.all(people.map(({ carillon }) => carillon.events.create(event)));
    const { data } = await eventually(
      () => owner.carillon.notifications.list(),
      (page) => page.data.length === NODES + 2,
    );
    assert.deepEqual(
      data.map((entry) => Number(entry.cursor)),
      [1, 2, 3, 4, 5],
    );
  });
}

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { testClock } from '../kit/clock.ts';
import { eventually, stepByStep } from '../kit/eventually.ts';
import type { Answer, Person, TestService } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  const FEED = '/v2/notifications';

  /** A service whose clock stands still, so that it is seen what waits and for how long. */
  async function stage(t: TestContext, options: Readonly<Record<string, string>> = {}) {
    const clock = testClock();
    const carillon = await testService(t, { ports: { clock }, options });
    const owner = await carillon.account('acme.test');
    const poll = (who: Person, query: string) => carillon.call(who, 'GET', `${FEED}?${query}`);
    /** How many callers wait at this moment, for at most so many milliseconds. */
    const waiting = (waitMs: number) => clock.pending.filter((pending) => pending === waitMs).length;
    const waits = (count: number, waitMs = 30_000) =>
      eventually(
        () => waiting(waitMs),
        (found) => found === count,
      );
    return { clock, carillon, owner, poll, waits };
  }

  const kindsIn = ({ status, json }: Answer) => [
    status,
    json.data?.map(({ kind }: { kind: string }) => kind),
    json.next,
  ];

  /** Something happens of which no news comes: as if another node had committed it and its news were lost. */
  async function happenUnheard({ store }: TestService, owner: Person): Promise<void> {
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

  test('X2 wait: what is there is answered at once', async (t) => {
    const { clock, owner, poll } = await stage(t);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn(await poll(owner, 'wait=30')), [200, ['new_client'], '1']);
    assert.deepEqual(clock.pending.filter((pending) => pending === 30_000).length, 0, 'nothing waits');
  });

  test('X2 wait: a call waits until something happens, and is answered by it', async (t) => {
    const { owner, poll, waits, carillon } = await stage(t);
    const stranger = await carillon.account('stranger.test');
    const answer = poll(owner, 'after=0&wait=30');
    await waits(1);
    await stranger.carillon.clients.create({ client_name: 'Theirs' });
    await waits(1);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn(await answer), [200, ['new_client'], '1']);
    await waits(0);
  });

  test('X2 wait: at the end of its time a call is answered with an empty page, behind what was left out', async (t) => {
    const { clock, carillon, owner, poll, waits } = await stage(t);
    const member = await carillon.user(owner, 'member');
    const answer = poll(member, 'after=0&wait=99');
    await waits(1);
    await owner.carillon.clients.create({ client_name: 'By another' });
    await waits(1);
    await clock.advance(29_999);
    assert.equal(await Promise.race([answer, 'still waiting']), 'still waiting');
    await clock.advance(1);
    assert.deepEqual(kindsIn(await answer), [200, [], '1']);
  });

  test('X2 wait: what happens without news is seen within a second', async (t) => {
    const { clock, carillon, owner, poll, waits } = await stage(t);
    const answer = poll(owner, 'wait=30');
    await waits(1);
    await happenUnheard(carillon, owner);
    const { status, json } = await stepByStep(
      () => clock.advance(250),
      () => Promise.race([answer, undefined]),
      (one) => one !== undefined,
    ).then((one) => one ?? assert.fail());
    assert.deepEqual([status, json.data.length, json.next], [200, 1, '1']);
    assert.ok(clock.monotonic() <= 5_000, `${clock.monotonic()} ms of its time`);
  });

  test('X2 wait: who waits keeps nobody else out, and holds no connection', async (t) => {
    const { clock, owner, poll, waits, carillon } = await stage(t, { maxRequests: '5' });
    const WAITING = 200;
    const answers: Promise<Answer>[] = [];
    // A few at a time: on their way in, they count like all others.
    for (let count = 1; count <= WAITING; count += 1) {
      answers.push(poll(owner, 'wait=30'));
      if (count % 5 === 0) await waits(count);
    }
    for (let count = 1; count <= 20; count += 1) {
      assert.equal((await carillon.call(owner, 'GET', '/v2/user')).status, 200);
    }
    // Longer than an answer may otherwise take: nobody is given up.
    await clock.advance(29_000);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    for (const answer of await Promise.all(answers)) assert.deepEqual(kindsIn(answer), [200, ['new_client'], '1']);
  });

  test('X2 wait: beyond --max-followers, and beyond a quarter of them in one account, 503; places are given back', async (t) => {
    const { owner, poll, waits, carillon } = await stage(t, { maxFollowers: '4' });
    const others = await Promise.all(['b', 'c', 'd', 'e'].map((name) => carillon.account(`${name}.test`)));
    const refused = async (who: Person) => {
      const { status, json, headers } = await poll(who, 'wait=30');
      assert.deepEqual([status, json.code, headers.get('retry-after')], [503, 'overloaded', '1']);
    };
    const waiting = [poll(owner, 'wait=30')];
    await waits(1);
    await refused(owner);
    assert.equal((await poll(owner, '')).status, 200, 'who does not wait needs no place');
    for (const other of others.slice(0, 3)) waiting.push(poll(other, 'wait=30'));
    await waits(4);
    await refused(others[3] ?? owner);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn((await waiting[0]) ?? assert.fail()), [200, ['new_client'], '1']);
    waiting.push(poll(owner, 'after=1&wait=30'));
    await waits(4);
    for (const who of [owner, ...others]) await who.carillon.clients.create({ client_name: 'end' });
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200);
  });

  test('X2 wait: a caller who goes away waits no longer', async (t) => {
    const { owner, carillon, waits } = await stage(t, { maxFollowers: '1' });
    const leaving = new AbortController();
    const url = `${carillon.baseUrl}${FEED}?wait=30`;
    const gone = fetch(url, { headers: owner.headers, signal: leaving.signal });
    await waits(1);
    leaving.abort();
    await assert.rejects(gone);
    await waits(0);
    const next = fetch(url, { headers: owner.headers });
    await waits(1);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.equal((await next).status, 200);
  });

  test('X2 wait: at a stop everybody who waits is answered at once, with an empty page', async (t) => {
    const { owner, poll, waits, carillon } = await stage(t);
    const answers = [poll(owner, 'wait=30'), poll(owner, 'after=0&wait=30&scope=account')];
    await waits(2);
    const stopping = carillon.stop();
    for (const answer of await Promise.all(answers)) {
      assert.deepEqual(kindsIn(answer), [200, [], '0']);
      assert.equal(answer.headers.get('connection'), 'close');
    }
    await stopping;
  });

  test('C1 X2 wait: a key that is revoked while it waits reads nothing any more', async (t) => {
    const { owner, poll, waits, carillon } = await stage(t);
    const key = await carillon.key(owner, {});
    const { data } = await owner.carillon.keys.list();
    const answer = poll(key, 'wait=30');
    await waits(1);
    await owner.carillon.keys.revoke(data.at(-1)?.id ?? '');
    const { status, json } = await answer;
    assert.deepEqual([status, json.code], [401, 'unauthorized']);
  });
}

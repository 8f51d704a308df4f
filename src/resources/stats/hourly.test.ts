import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createTestClock, TEST_CLOCK_START } from '../../../test/kit/clock.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const HOUR_MS = 3_600_000;

  async function setUp(t: TestContext) {
    const clock = createTestClock();
    const carillon = await testService(t, { deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const hoursOf = async (who: ApiUser) => (await carillon.signIn(who)).console.hours;
    const subscribe = async (who: ApiUser, port: number) =>
      (await who.carillon.hooks.create({ target_url: `http://127.0.0.1:9/${port}`, event: 'new_client' })).id;
    /** Inserts attempts made a number of hours ago. */
    const attempted = (hook: string, hoursAgo: number, ...tries: readonly [outcome: string, milliseconds: number][]) =>
      carillon.store.write(async ({ queries }) => {
        const hook_id = Number(hook);
        const { account_id } = await queries
          .selectFrom('hooks')
          .select('account_id')
          .where('hook_id', '=', hook_id)
          .executeTakeFirstOrThrow();
        const attempt = { account_id, hook_id, delivery_id: 1, attempted_at: TEST_CLOCK_START - hoursAgo * HOUR_MS };
        const rows = tries.map(([outcome, milliseconds]) => ({
          ...attempt,
          outcome,
          milliseconds,
          counted: 0,
          reason: '',
        }));
        await queries.insertInto('attempts').values(rows).execute();
      });
    return { carillon, owner, hoursOf, subscribe, attempted };
  }

  test('each hook has its last 24 hours, with what was delivered, what failed and how long it took', async (t) => {
    const { owner, hoursOf, subscribe, attempted } = await setUp(t);
    const [one, two] = [await subscribe(owner, 1), await subscribe(owner, 2)];
    await attempted(one, 0, ['200', 10], ['200', 20], ['500', 60], ['no_resolver', 9_000]);
    await attempted(one, 23, ['timeout', 15_000]);
    await attempted(one, 24, ['200', 1]);
    const hours = await hoursOf(owner);
    const { data, paging } = await hours.list();
    assert.deepEqual(paging, { offset: 0, limit: 1000, total_records: 48 });
    assert.deepEqual(data[0], {
      hook_id: one,
      hour: '2025-04-30 13:00:00',
      delivered: '0',
      failed: '1',
      milliseconds: '15000',
    });
    assert.deepEqual(data[23], {
      hook_id: one,
      hour: '2025-05-01 12:00:00',
      delivered: '2',
      failed: '1',
      milliseconds: '30',
    });
    const quiet = [...data.slice(1, 23), ...data.slice(24)];
    assert.ok(quiet.every(({ delivered, failed, milliseconds }) => `${delivered}${failed}${milliseconds}` === '000'));
    assert.deepEqual(new Set(data.slice(24).map(({ hook_id }) => hook_id)), new Set([two]));
    assert.deepEqual((await hours.list({ hook_id: two })).data, data.slice(24));
    const pieces = [];
    for await (const hour of hours.each({ limit: 7 })) pieces.push(hour);
    assert.deepEqual(pieces, data, 'wherever a page ends');
  });

  test('hours are of the caller’s hooks, or for admins of another user’s', async (t) => {
    const { carillon, owner, hoursOf, subscribe } = await setUp(t);
    const member = await carillon.createUser(owner, 'member');
    const theirs = await subscribe(member, 1);
    const mine = await subscribe(owner, 2);
    const [ofOwner, ofMember] = [await hoursOf(owner), await hoursOf(member)];
    const hooksIn = (rows: readonly { hook_id: string }[]) => [...new Set(rows.map(({ hook_id }) => hook_id))];
    assert.deepEqual(hooksIn((await ofOwner.list()).data), [mine]);
    assert.deepEqual(hooksIn((await ofOwner.list({ user_id: member.userId })).data), [theirs]);
    assert.deepEqual(hooksIn((await ofMember.list()).data), [theirs]);
    assert.deepEqual((await ofMember.list({ hook_id: mine })).data, []);
    await assert.rejects(ofMember.list({ user_id: owner.userId }), { code: 'not_permitted' });
  });
}

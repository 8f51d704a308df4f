import assert from 'node:assert/strict';
import { after } from 'node:test';
import { testClock } from '../kit/clock.ts';
import { eventually } from '../kit/eventually.ts';
import type { Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  const clock = testClock();
  const carillon = await testService({ after }, { options: { retryWaits: '1m,2h' }, ports: { clock } });
  const owner = await carillon.account('acme.test');
  const admin = await carillon.user(owner, 'admin');
  const member = await carillon.user(owner, 'member');
  const other = await carillon.user(owner, 'member');
  const otherOwner = await carillon.account('other.test');

  let paths = 0;
  async function hookOf(who: Person): Promise<string> {
    paths += 1;
    const target_url = `http://127.0.0.1:9/${paths}`;
    return (await who.carillon.hooks.create({ target_url, event: 'new_event' })).id;
  }
  const remove = (who: Person, id: string) => carillon.call(who, 'DELETE', `/v2/hooks/${id}`);

  test('C13 unsubscribing returns 200 with an empty array, and the hook has ended', async () => {
    const id = await hookOf(member);
    const response = await remove(member, id);
    assert.equal(response.status, 200);
    assert.equal(response.text, '[]');
    const hook = await member.carillon.hooks.get(id);
    assert.deepEqual({ state: hook.state, reason: hook.ended_reason }, { state: 'ended', reason: 'deleted' });
  });

  test('C3 C13 an unknown hook, an ended one and one of another account get the same 404, byte for byte', async () => {
    const ended = await hookOf(member);
    await remove(member, ended);
    const theirs = await hookOf(otherOwner);
    const responses = [
      await remove(member, '999999'),
      await remove(member, ended),
      await remove(member, theirs),
      await remove(owner, theirs),
      await remove(owner, ended),
    ];
    for (const response of responses) {
      assert.equal(response.status, 404);
      assert.equal(response.text, responses[0]?.text);
    }
    assert.equal((await otherOwner.carillon.hooks.get(theirs)).state, 'live');
  });

  test("C13 another user's hook of the account is 401 for a member, and an admin can end it", async () => {
    for (const whose of [owner, admin, other]) {
      const id = await hookOf(whose);
      const response = await remove(member, id);
      assert.equal(response.status, 401);
      assert.equal(response.json.code, 'not_permitted');
      assert.equal((await whose.carillon.hooks.get(id)).state, 'live', 'refused means not done');
    }
    for (const [who, whose] of [
      [admin, member],
      [admin, owner],
      [owner, admin],
    ] as const) {
      const id = await hookOf(whose);
      assert.equal((await remove(who, id)).status, 200);
      assert.equal((await whose.carillon.hooks.get(id)).state, 'ended');
    }
  });

  test('C13 after the 200 neither pending nor later deliveries are sent, however long one waits', async (t) => {
    const target = await startTarget(t, 500);
    const healthy = await startTarget(t);
    const create = (name: string) =>
      owner.carillon.events.create({ event_name: name, start_date: '20270101', due_date: '20270101' });
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await owner.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' });
    await create('fails');
    await create('waits behind it');
    await eventually(
      () => owner.carillon.hooks.get(id),
      (hook) => hook.state === 'failing',
    );
    const before = target.received.length;
    assert.equal(before, 1);

    await owner.carillon.hooks.delete(id);
    await create('after the end');
    await clock.advance(24 * 3_600_000);
    await healthy.arrived(3);
    await carillon.stop();
    assert.equal(target.received.length, before);
  });
}

import assert from 'node:assert/strict';
import { eventually } from '../kit/eventually.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  test('C23 X6 ended hooks are counted by reason, from every cause', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const member = await carillon.user(owner, 'member');
    const unsubscribes = await startTarget(t, 401);
    const fails = await startTarget(t, 500);
    const idle = await startTarget(t);
    const { hooks, clients, users } = owner.carillon;
    const subscribe = (target_url: string) => hooks.create({ target_url, event: 'new_client' });
    const [unsubscribed, failed] = [await subscribe(unsubscribes.url), await subscribe(fails.url)];
    const deleted = await subscribe(idle.at('/deleted'));
    await member.carillon.hooks.create({ target_url: idle.at('/member'), event: 'new_client' });

    await hooks.delete(deleted.id);
    await users.delete(member.userId);
    await clients.create({ client_name: 'ACME' });
    for (const { id } of [unsubscribed, failed]) {
      await eventually(
        () => hooks.get(id),
        (hook) => hook.state === 'ended',
      );
    }
    const { text } = await carillon.call(undefined, 'GET', '/metrics');
    const counted = [...text.matchAll(/^carillon_hooks_ended_total\{reason="(\w+)"\} (\d+)$/gm)];
    assert.deepEqual(counted.map(([, reason, count]) => `${reason} ${count}`).sort(), [
      'answered_401 1',
      'deleted 1',
      'three_failures 1',
      'user_deleted 1',
    ]);
  });

  test('X6 the age of pending deliveries counts live hooks only; hook queues and nodes are counted', async (t) => {
    const carillon = await testService(t, { options: { retryWaits: '1h,1h' } });
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t, 500);
    const { hooks, clients } = owner.carillon;
    const metric = async (name: string) => {
      const { text } = await carillon.call(undefined, 'GET', '/metrics');
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    };
    assert.equal(await metric('carillon_nodes'), 1);
    assert.equal(await metric('carillon_oldest_pending_seconds'), 0);
    const { id } = await hooks.create({ target_url: target.url, event: 'new_client' });
    await clients.create({ client_name: 'ACME' });
    await eventually(
      () => metric('carillon_hooks_failing'),
      (failing) => failing === 1,
    );
    assert.ok((await metric('carillon_oldest_pending_seconds')) > 0);
    assert.equal(await metric('carillon_hook_queues_leased'), 1);
    assert.ok((await metric('carillon_commit_events_total\\{from="here"\\}')) >= 2);

    await hooks.delete(id);
    assert.equal(await metric('carillon_oldest_pending_seconds'), 0);
    assert.equal(await metric('carillon_hooks_failing'), 0);
    const pending = await carillon.store.read.selectFrom('pending_deliveries').selectAll().execute();
    assert.equal(pending.length, 1, 'pending deliveries of an ended hook are kept');
  });
}

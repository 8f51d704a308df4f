import assert from 'node:assert/strict';
import { after } from 'node:test';
import { startTarget } from '../../kit/network/target.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const carillon = await testService({ after }, { options: { retryWaits: '1h,1h' } });
  let accountCount = 0;

  /** Creates an account with an owner, an admin and a member. */
  async function createTeam() {
    accountCount += 1;
    const owner = await carillon.createAccount(`changes-${accountCount}.test`);
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    return { owner, admin, member };
  }

  test('X11 X13 the headers of a hook are not sent to another origin, unless the change gives them anew', async (t) => {
    const { owner, admin } = await createTeam();
    const [gateway, elsewhere] = [await startTarget(t), await startTarget(t)];
    const headers = { 'x-gateway': 'hush-4711' };
    const { id } = await owner.carillon.hooks.create({ target_url: gateway.url, event: 'new_event', headers });
    const put = (body: Record<string, unknown>) => carillon.call(admin, 'PUT', `/v2/hooks/${id}`, body);
    const { status, json } = await put({ target_url: elsewhere.url, name: 'Taken over' });
    assert.deepEqual([status, json.code], [400, 'invalid_input']);
    const message = 'must be given with a target_url of another origin, because the stored values are secret';
    assert.deepEqual(json.errors, [{ field: 'headers', message }]);
    const { target_url, name } = await owner.carillon.hooks.get(id);
    assert.deepEqual([target_url, name], [gateway.url, '']);
    await carillon.call(admin, 'POST', `/v2/hooks/${id}/test`);
    assert.equal((await gateway.waitForArrivals(1))[0]?.headers['x-gateway'], 'hush-4711');

    // Another path of the same origin keeps them.
    assert.equal((await put({ target_url: gateway.urlOf('/other') })).status, 200);
    await carillon.call(admin, 'POST', `/v2/hooks/${id}/test`);
    assert.equal((await gateway.waitForArrivals(2))[1]?.headers['x-gateway'], 'hush-4711');

    assert.equal((await put({ target_url: elsewhere.url, headers: {} })).status, 200);
    await carillon.call(admin, 'POST', `/v2/hooks/${id}/test`);
    assert.equal((await elsewhere.waitForArrivals(1))[0]?.headers['x-gateway'], undefined);
    // Without headers, nothing is secret.
    assert.equal((await put({ target_url: gateway.url })).status, 200);
  });
}

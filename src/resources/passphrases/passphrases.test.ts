import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { serializeTables } from '../../../test/kit/service/occurrences.ts';
import {
  type ApiUser,
  type ConsoleUser,
  type TestService,
  withProductionHashing,
} from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { PassphraseHasher, systemRandom } from '../../secrets.ts';

const FIRST = 'correct horse battery staple';
const SECOND = 'another horse, another staple';
const HOME = { 'sec-fetch-site': 'same-origin' };

for (const { test, testService } of stores) {
  const carillon = await testService({ after }, withProductionHashing);

  async function withPassphrase(who: ApiUser, at: TestService = carillon): Promise<void> {
    const token = (await at.createInvitationLink(who)).split('/').at(-1);
    const { status } = await at.call({ headers: HOME }, 'POST', '/console/welcome', { token, passphrase: FIRST });
    assert.equal(status, 200);
  }

  const put = (who: ConsoleUser, body: unknown, at = carillon) => at.call(who, 'PUT', '/console/api/passphrase', body);
  const signIn = async ({ domain }: ApiUser, passphrase: string) =>
    (
      await carillon.call({ headers: HOME }, 'POST', '/console/session', {
        domain,
        email: `owner@${domain}`,
        passphrase,
      })
    ).status;

  test('setting a passphrase requires the current one and ends other sessions and open links, but not this session', async () => {
    const owner = await carillon.createAccount('set.test');
    await withPassphrase(owner);
    const [here, elsewhere] = [await carillon.signIn(owner), await carillon.signIn(owner)];
    const link = await carillon.createInvitationLink(owner);
    const colleague = await carillon.signIn(await carillon.createUser(owner, 'member'));
    const { status, json } = await put(here, { current: FIRST, passphrase: SECOND });
    assert.deepEqual([status, json], [200, { data: { user_id: owner.userId } }]);
    assert.equal((await here.console.user.get()).user_id, owner.userId);
    await assert.rejects(elsewhere.console.user.get(), { code: 'signed_out' });
    await colleague.console.user.get();
    await assert.rejects(here.console.getInvitedUser(link.split('/').at(-1) ?? ''), { code: 'not_found' });
    assert.deepEqual([await signIn(owner, FIRST), await signIn(owner, SECOND)], [401, 200]);
    const stored = await carillon.store.read
      .selectFrom('passphrases')
      .select('passphrase_hash')
      .where('user_id', '=', Number(owner.userId))
      .executeTakeFirstOrThrow();
    assert.match(stored.passphrase_hash, /^scrypt:15:8:3:/);
  });

  test('a missing current passphrase or an invalid new one changes nothing, and the error names the field', async () => {
    const owner = await carillon.createAccount('kept.test');
    const bare = await carillon.signIn(await carillon.createUser(owner, 'member'));
    await withPassphrase(owner);
    const here = await carillon.signIn(owner);
    const before = await serializeTables(carillon);
    const wrong: [ConsoleUser, object, string][] = [
      [here, { current: SECOND, passphrase: SECOND }, 'current'],
      [here, { passphrase: SECOND }, 'current'],
      [here, { current: FIRST, passphrase: 'too short' }, 'passphrase'],
      [here, { current: FIRST, passphrase: 'OWNER@kept.test' }, 'passphrase'],
      [here, { current: FIRST }, 'passphrase'],
      [bare, { current: '', passphrase: SECOND }, 'current'],
    ];
    for (const [who, body, field] of wrong) {
      const { status, json } = await put(who, body);
      assert.deepEqual(
        [status, json.code, json.errors?.[0].field],
        [400, 'invalid_input', field],
        JSON.stringify(body),
      );
    }
    assert.equal(await serializeTables(carillon), before);
  });

  test('attempts at the current passphrase through a session are throttled', async (t) => {
    const clock = createTestClock();
    const carillon = await testService(t, { deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    await withPassphrase(owner, carillon);
    const thief = await carillon.signIn(owner);
    for (let count = 0; count < 5; count += 1) {
      assert.equal((await put(thief, { current: `guess ${count}`, passphrase: SECOND }, carillon)).status, 400);
    }
    const { status, json, headers } = await put(thief, { current: FIRST, passphrase: SECOND }, carillon);
    assert.deepEqual([status, json.code, headers.get('retry-after')], [429, 'too_many_tries', '30']);
    const own = await carillon.signIn(owner);
    assert.equal((await put(own, { current: FIRST, passphrase: SECOND }, carillon)).status, 200, 'its owner can');
  });

  test('of two concurrent changes one fails', async () => {
    const owner = await carillon.createAccount('race.test');
    await withPassphrase(owner);
    const here = await carillon.signIn(owner);
    const both = await Promise.all([
      put(here, { current: FIRST, passphrase: `${SECOND} 1` }),
      put(here, { current: FIRST, passphrase: `${SECOND} 2` }),
    ]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 400]);
  });

  test('a hash of lower cost is renewed at sign-in', async () => {
    const owner = await carillon.createAccount('dearer.test');
    await withPassphrase(owner);
    const cheap = await new PassphraseHasher(systemRandom, { logN: 10, r: 8, p: 1 }).hash(FIRST, 'test');
    await carillon.store.write(({ queries }) =>
      queries
        .updateTable('passphrases')
        .set({ passphrase_hash: cheap })
        .where('user_id', '=', Number(owner.userId))
        .execute(),
    );
    assert.deepEqual([await signIn(owner, SECOND), await signIn(owner, FIRST)], [401, 200]);
    const stored = await carillon.store.read
      .selectFrom('passphrases')
      .select('passphrase_hash')
      .where('user_id', '=', Number(owner.userId))
      .executeTakeFirstOrThrow();
    assert.match(stored.passphrase_hash, /^scrypt:15:8:3:/);
    assert.equal(await signIn(owner, FIRST), 200);
  });
}

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { serializeTables } from '../../../test/kit/service/occurrences.ts';
import type { ConsoleUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { deleteExpiredInvitations } from './invitations.ts';

const DAY_MS = 24 * 3_600_000;
const HOME = { 'sec-fetch-site': 'same-origin' };

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const tokenOf = (link: string) => link.split('/').at(-1) ?? '';
  const ask = (link: string, at = carillon) =>
    at.call({ headers: HOME }, 'POST', '/console/invitation', { token: tokenOf(link) });

  test('an admin creates a link for a user, which is shown once and replaced by a newer one', async () => {
    const owner = await carillon.createAccount('made.test');
    const member = await carillon.createUser(owner, 'member');
    const admin = await carillon.signIn(await carillon.createUser(owner, 'admin'));
    const made = await carillon.call(admin, 'POST', '/console/api/invitations', { user_id: member.userId });
    assert.equal(made.status, 201);
    const { id, link, ...rest } = made.json.data;
    assert.deepEqual(Object.keys(rest), ['user_id', 'made_by', 'date_created', 'expires']);
    assert.deepEqual([rest.user_id, rest.made_by], [member.userId, admin.userId]);
    assert.match(link, new RegExp(`^${carillon.baseUrl}/#/welcome/[\\w-]{43}$`));
    const week = Date.parse(`${rest.expires}Z`) - Date.parse(`${rest.date_created}Z`);
    assert.equal(week, 7 * DAY_MS);
    const { data } = await admin.console.invitations.list();
    assert.deepEqual(data, [{ id, ...rest }], 'listed without the link');

    const newer = await admin.console.invitations.create({ user_id: member.userId });
    assert.deepEqual([(await ask(link)).status, (await ask(newer.link)).status], [404, 200]);
    assert.deepEqual(
      (await admin.console.invitations.list()).data.map((one) => one.id),
      [newer.id],
    );
    assert.deepEqual((await admin.console.invitations.list({ user_id: owner.userId })).data, []);
  });

  test('a revoked link is invalid and no longer listed', async () => {
    const owner = await carillon.createAccount('back.test');
    const top = await carillon.signIn(owner);
    const member = await carillon.createUser(owner, 'member');
    const { id, link } = await top.console.invitations.create({ user_id: member.userId });
    await top.console.invitations.withdraw(id);
    assert.equal((await ask(link)).status, 404);
    await assert.rejects(top.console.invitations.withdraw(id), { code: 'not_found' });
    const used = await top.console.invitations.create({ user_id: member.userId });
    const passphrase = 'correct horse battery staple';
    const body = { token: tokenOf(used.link), passphrase };
    assert.equal((await carillon.call({ headers: HOME }, 'POST', '/console/welcome', body)).status, 200);
    await assert.rejects(top.console.invitations.withdraw(used.id), { code: 'not_found' }, 'nor is a used one');
  });

  test('only admins create links, and only for users of the account whose role is not above theirs', async () => {
    const owner = await carillon.createAccount('above.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    const [asAdmin, asMember] = [await carillon.signIn(admin), await carillon.signIn(member)];
    const { id } = await (await carillon.signIn(owner)).console.invitations.create({ user_id: owner.userId });
    const stranger = await carillon.createAccount('stranger.test');
    const before = await serializeTables(carillon);
    const refused: [ConsoleUser, string, string, object | undefined, number, string][] = [
      [asMember, 'POST', '', { user_id: member.userId }, 401, 'not_permitted'],
      [asMember, 'GET', '', undefined, 401, 'not_permitted'],
      [asMember, 'DELETE', `/${id}`, undefined, 401, 'not_permitted'],
      [asAdmin, 'POST', '', { user_id: owner.userId }, 401, 'not_permitted'],
      [asAdmin, 'DELETE', `/${id}`, undefined, 401, 'not_permitted'],
      [asAdmin, 'POST', '', { user_id: stranger.userId }, 404, 'not_found'],
      [asAdmin, 'POST', '', {}, 400, 'invalid_input'],
      [asAdmin, 'POST', '', { user_id: 'x' }, 400, 'invalid_input'],
    ];
    for (const [who, method, path, body, status, code] of refused) {
      const answer = await carillon.call(who, method, `/console/api/invitations${path}`, body);
      assert.deepEqual([answer.status, answer.json.code], [status, code], `${method} ${JSON.stringify(body)}`);
    }
    assert.equal(await serializeTables(carillon), before);
  });

  test('a link expires after seven days and is then deleted', async (t) => {
    let now = Date.parse('2027-01-01T00:00:00Z');
    const carillon = await testService(t, { deps: { clock: { ...systemClock, now: () => now } } });
    const link = await carillon.createInvitationLink(await carillon.createAccount('acme.test'));
    now += 7 * DAY_MS - 1;
    assert.equal((await ask(link, carillon)).status, 200);
    now += 1;
    const body = { token: tokenOf(link), passphrase: 'correct horse battery staple' };
    for (const path of ['invitation', 'welcome']) {
      const { status } = await carillon.call({ headers: HOME }, 'POST', `/console/${path}`, body);
      assert.equal(status, 404, path);
    }
    const left = () => carillon.store.read.selectFrom('invitations').select('invitation_id').execute();
    assert.equal((await left()).length, 2, 'the one of the first start is another');
    assert.equal(await deleteExpiredInvitations(carillon.store, now), 2);
    assert.deepEqual(await left(), []);
  });
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { queryRows } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { formatRequest } from '../../kit/network/raw-http.ts';
import { runCarillonJson } from '../../kit/service/command.ts';
import { serializeTables } from '../../kit/service/occurrences.ts';
import {
  type ApiUser,
  type ConsoleUser,
  createConsoleUser,
  createTemporaryFolder,
  type Json,
} from '../../kit/service/service.ts';
import { sharedStores, stores } from '../../kit/service/stores.ts';

const PASSPHRASE = 'correct horse battery staple';
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

for (const { test, name, testService, database } of stores) {
  const carillon = await testService({ after });

  const tokenOf = (link: string) => link.split('/').at(-1) ?? '';
  const isValidLink = async (link: string) =>
    (await carillon.call({ headers: SAME_ORIGIN }, 'POST', '/console/invitation', { token: tokenOf(link) })).status ===
    200;
  const sessionStatus = async (who: ConsoleUser) => (await carillon.call(who, 'GET', '/console/api/user')).status;

  async function welcome(who: ApiUser): Promise<void> {
    const body = { token: tokenOf(await carillon.createInvitationLink(who)), passphrase: PASSPHRASE };
    assert.equal((await carillon.call({ headers: SAME_ORIGIN }, 'POST', '/console/welcome', body)).status, 200);
  }

  /** Counts the sessions, passphrases and open links of a user. */
  async function countCredentials(who: ApiUser): Promise<number> {
    const counts = (['sessions', 'passphrases', 'invitations'] as const).map(async (table) => {
      const rows = carillon.store.read.selectFrom(table).select('user_id').where('user_id', '=', Number(who.userId));
      return (
        table === 'invitations' ? await rows.where('used_at' as never, 'is', null).execute() : await rows.execute()
      ).length;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  test('C23 a deleted user leaves no session, passphrase or open link, and no link that they created', async () => {
    const owner = await carillon.createAccount('deleted.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    await welcome(admin);
    const session = await carillon.signIn(admin);
    const own = await carillon.createInvitationLink(admin);
    const { link } = await session.console.invitations.create({ user_id: member.userId });
    assert.deepEqual([await isValidLink(own), await isValidLink(link), await countCredentials(admin)], [true, true, 4]);
    await owner.carillon.users.delete(admin.userId);
    assert.equal(await sessionStatus(session), 401);
    assert.deepEqual(
      [await isValidLink(own), await isValidLink(link), await countCredentials(admin)],
      [false, false, 0],
    );
  });

  test('C2 a changed role takes effect immediately in open sessions, and revokes the links of and by the user', async () => {
    const owner = await carillon.createAccount('role.test');
    const admin = await carillon.createUser(owner, 'admin');
    const member = await carillon.createUser(owner, 'member');
    const session = await carillon.signIn(admin);
    const { link } = await session.console.invitations.create({ user_id: member.userId });
    await owner.carillon.users.update(admin.userId, { first_name: 'Ann' });
    assert.equal(await isValidLink(link), true, 'only a role matters');
    await owner.carillon.users.update(member.userId, { role: 'admin' });
    assert.equal(await isValidLink(link), false, 'it was made for a member');

    const next = await session.console.invitations.create({ user_id: member.userId });
    await owner.carillon.users.update(admin.userId, { role: 'member' });
    assert.equal(await isValidLink(next.link), false, 'it was made by an admin');
    await assert.rejects(session.console.users.create({ email: 'x@role.test' }), { code: 'not_permitted' });
    assert.equal((await session.console.user.get()).role, 'member', 'the session continues');
  });

  test('a passphrase set through a link ends every session of the user', async () => {
    const owner = await carillon.createAccount('reset.test');
    const [oldSession, colleague] = [
      await carillon.signIn(owner),
      await carillon.signIn(await carillon.createUser(owner, 'admin')),
    ];
    await welcome(owner);
    assert.deepEqual([await sessionStatus(oldSession), await sessionStatus(colleague)], [401, 200]);
  });

  /** Begins a request with an incomplete body. Its caller has been authenticated. */
  async function beginRequest(who: ConsoleUser, path: string, body: string) {
    const { hostname, port } = new URL(carillon.baseUrl);
    // This request fills the caller cache, so that the next request is authenticated before its body arrives.
    await who.console.user.get();
    const socket = connect(Number(port), hostname);
    const closed = once(socket, 'close');
    const headers = Object.entries(who.headers).map(([header, value]) => `${header}: ${value}`);
    const lines = ['content-type: application/json', 'expect: 100-continue', 'connection: close'];
    const head = [`POST ${path} HTTP/1.1`, 'host: x', ...headers, `content-length: ${body.length}`, ...lines];
    socket.write(formatRequest(head, body.slice(0, 5)));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await once(socket, 'data');
    return async () => {
      socket.write(body.slice(5));
      await closed;
      const [response = '', json = ''] = text.split('\r\n\r\n').slice(1);
      return [Number(response.split(' ')[1]), JSON.parse(json).code];
    };
  }

  test('C1 a session that ends while its request is arriving writes nothing more', async () => {
    const owner = await carillon.createAccount('meanwhile.test');
    const ends: Record<string, (session: ConsoleUser, user: ApiUser) => Promise<unknown>> = {
      'signed out': (session) => session.console.signOut(),
      deleted: (_, { userId }) => owner.carillon.users.delete(userId),
      'another role': (_, { userId }) => owner.carillon.users.update(userId, { role: 'member' }),
    };
    for (const [what, end] of Object.entries(ends)) {
      const admin = await carillon.createUser(owner, 'admin');
      const session = await carillon.signIn(admin);
      const finish = await beginRequest(session, '/console/api/clients', JSON.stringify({ client_name: 'Late' }));
      await end(session, admin);
      const before = await serializeTables(carillon);
      assert.deepEqual(await finish(), [401, 'signed_out'], what);
      assert.equal(await serializeTables(carillon), before, what);
    }
  });

  test('C1 a feed stream ends with its session', async () => {
    const owner = await carillon.createAccount('stream.test');
    const session = await carillon.signIn(owner);
    const headers = { ...session.headers, accept: 'text/event-stream' };
    const response = await fetch(`${carillon.baseUrl}/console/api/notifications`, { headers });
    assert.equal(response.headers.get('content-type')?.split(';')[0], 'text/event-stream');
    const ended = response.text().then(
      () => 'ended',
      () => 'ended',
    );
    await session.console.signOut();
    await owner.carillon.clients.create({ client_name: 'After the end' });
    assert.equal(await ended, 'ended');
  });

  test('after a restore there are no sessions and no open links; passphrases are those of the backup', async (t) => {
    const place = await database(t);
    const first = await testService(t, { database: place });
    const owner = await first.createAccount('acme.test');
    const link = await first.createInvitationLink(owner);
    await first.signIn(owner);
    const body = { token: tokenOf(await first.createInvitationLink(owner)), passphrase: PASSPHRASE };
    await first.call({ headers: SAME_ORIGIN }, 'POST', '/console/welcome', body);
    await first.createInvitationLink(owner);
    await first.stop();
    assert.ok(link.length > 0);
    const counts = async (at: string): Promise<unknown> => {
      const [row] = await queryRows(
        at,
        `select (select count(*) from sessions) as sessions, (select count(*) from invitations where used_at is null) as links,
          (select count(*) from passphrases) as passphrases`,
      );
      return [row.sessions, row.links, row.passphrases].map(Number);
    };
    assert.deepEqual(await counts(place), [1, 2, 1], 'with the link of the first start');
    let restored = place;
    if (name === 'SQLite') {
      const backup = join(createTemporaryFolder(t), 'backup.db');
      await runCarillonJson(['backup', '--database', place, '--to', backup]);
      restored = `sqlite:${join(createTemporaryFolder(t), 'restored.db')}`;
      await runCarillonJson(['restore', '--database', restored, '--from', backup]);
    } else {
      await runCarillonJson(['restore', '--database', place, '--after-restore']);
    }
    assert.deepEqual(await counts(restored), [0, 0, 1]);
  });

  test('a moved account takes its passphrases along, but not its sessions and links', async (t) => {
    const [from, to] = [await database(t), await database(t)];
    const source = await testService(t, { database: from });
    const owner = await source.createAccount('acme.test');
    const body = { token: tokenOf(await source.createInvitationLink(owner)), passphrase: PASSPHRASE };
    await source.call({ headers: SAME_ORIGIN }, 'POST', '/console/welcome', body);
    await source.createInvitationLink(owner);
    await source.stop();
    const file = join(createTemporaryFolder(t), 'acme.jsonl');
    await runCarillonJson(['export', '--database', from, '--domain', 'acme.test', '--to', file]);
    await runCarillonJson(['import', '--database', to, '--from', file]);
    await runCarillonJson(['accounts', 'delete', '--database', from, '--domain', 'acme.test', '--exported', file]);
    const who = `where user_id = ${owner.userId}`;
    for (const [table, moved] of [
      ['passphrases', 1],
      ['sessions', 0],
      ['invitations', 0],
    ] as const) {
      const count = async (at: string) =>
        Number((await queryRows(at, `select count(*) as n from ${table} ${who}`))[0].n);
      assert.deepEqual([await count(from), await count(to)], [0, moved], table);
    }
    const destination = await testService(t, { database: to });
    const session = { domain: 'acme.test', email: 'owner@acme.test', passphrase: PASSPHRASE };
    assert.equal((await destination.call({ headers: SAME_ORIGIN }, 'POST', '/console/session', session)).status, 200);
  });
}

for (const { test, database, testService } of sharedStores) {
  test('C1 on several nodes a session is valid at each of them, and ends at all of them', async (t) => {
    for (const listen of ['on', 'off']) {
      const place = `${await database(t)}?listen=${listen}`;
      const [one, other] = [await testService(t, { database: place }), await testService(t, { database: place })];
      const owner = await one.createAccount('acme.test');
      const here = await one.signIn(owner);
      const there = createConsoleUser(other.baseUrl, owner, here.token);
      assert.equal((await there.console.user.get()).user_id, owner.userId);
      await here.console.signOut();
      await assert.rejects(here.console.user.get(), { code: 'signed_out' });
      // The other node rejects writes at once, and reads within the second for which it caches callers.
      await assert.rejects(there.console.clients.create({ client_name: 'Late' }), { code: 'signed_out' });
      await eventually(
        () =>
          there.console.user.get().then(
            () => 'in',
            (error: Json) => error.code,
          ),
        (code) => code === 'signed_out',
        2_000,
      );
    }
  });

  test('a delivery-only node has no console and no sign-in', async (t) => {
    const node = await testService(t, { database: await database(t), options: { role: 'delivery' } });
    for (const [method, path] of [
      ['GET', '/console/api/user'],
      ['POST', '/console/session'],
      ['DELETE', '/console/session'],
      ['POST', '/console/invitation'],
      ['POST', '/console/welcome'],
    ] as const) {
      const { status } = await node.call({ headers: SAME_ORIGIN }, method, path, method === 'POST' ? {} : undefined);
      assert.equal(status, 404, path);
    }
  });
}

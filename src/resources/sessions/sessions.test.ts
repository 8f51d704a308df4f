import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { CarillonError } from '../../../packages/sdk/src/index.ts';
import { createTestClock } from '../../../test/kit/clock.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { browserNameOf } from './authenticate.ts';
import { deleteExpiredSessions, MAX_SESSIONS_PER_USER } from './sessions.ts';

const DAY_MS = 24 * 3_600_000;

test('a User-Agent is shown as a readable browser name', () => {
  const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)';
  const cases: Record<string, string> = {
    'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0': 'Firefox 145 on Linux',
    [`${windows} Chrome/142.0.0.0 Safari/537.36`]: 'Chrome 142 on Windows',
    [`${windows} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.3595.53`]: 'Edge 142 on Windows',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15':
      'Safari 26 on macOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1':
      'Safari 26 on iPhone',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36':
      'Chrome 142 on Android',
    'Firefox/7': 'Firefox 7',
    'curl/8.5.0': 'curl/8.5.0',
    '': '',
  };
  for (const [says, words] of Object.entries(cases)) assert.equal(browserNameOf(says), words);
  assert.equal(browserNameOf('x'.repeat(500)).length, 120);
});

for (const store of stores) {
  const carillon = await store.testService({ after });

  store.test('a user is signed in in fifty browsers at the most: the one that came first is signed out', async (t) => {
    const several = await store.testService(t);
    const owner = await several.createAccount('acme.test');
    const [first, second] = [await several.signIn(owner), await several.signIn(owner)];
    const other = await several.signIn(await several.createUser(owner, 'member'));
    for (let count = 2; count < MAX_SESSIONS_PER_USER; count += 1) await several.signIn(owner);
    assert.equal((await first.console.user.get()).user_id, owner.userId);
    const newest = await several.signIn(owner);
    await eventually(
      () => first.console.user.get().catch((error: CarillonError) => error.code),
      (answer) => answer === 'signed_out',
    );
    for (const one of [second, other, newest]) assert.equal((await one.console.user.get()).user_id, one.userId);
    assert.equal((await newest.console.sessions.list()).paging.total_records, MAX_SESSIONS_PER_USER);
  });

  store.test('sessions are listed: your own, and for admins those of another user', async () => {
    const owner = await carillon.createAccount('listed.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    const [one, other, theirs] = [
      await carillon.signIn(member),
      await carillon.signIn(member),
      await carillon.signIn(admin),
    ];
    const { data } = await one.console.sessions.list();
    assert.deepEqual(
      data.map(({ user_id, agent, source, current }) => ({ user_id, agent, source, current })),
      [
        { user_id: member.userId, agent: 'a test', source: 'command line', current: '1' },
        { user_id: member.userId, agent: 'a test', source: 'command line', current: '0' },
      ],
    );
    assert.ok(!JSON.stringify(data).includes(other.token));
    const seen = await theirs.console.sessions.list({ user_id: member.userId });
    assert.deepEqual(
      seen.data.map(({ id, current }) => [id, current]),
      data.map(({ id }) => [id, '0']),
    );
    assert.deepEqual((await theirs.console.sessions.list({ user_id: owner.userId })).data, []);
    await assert.rejects(one.console.sessions.list({ user_id: admin.userId }), { code: 'not_permitted' });
  });

  store.test('a session is ended by whose it is, and by admins who are not below; at once, and only once', async () => {
    const owner = await carillon.createAccount('ended.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    const top = await carillon.signIn(owner);
    const above = await carillon.signIn(admin);
    const [one, other] = [await carillon.signIn(member), await carillon.signIn(member)];
    const idOf = async (who: typeof one) =>
      (await who.console.sessions.list()).data.find(({ current }) => current === '1')?.id ?? '';
    const [topId, aboveId, oneId, otherId] = await Promise.all([top, above, one, other].map(idOf));

    for (const id of [topId, aboveId]) await assert.rejects(one.console.sessions.end(id ?? ''), { code: 'not_found' });
    await assert.rejects(above.console.sessions.end(topId ?? ''), { code: 'not_permitted' });
    await one.console.sessions.end(otherId ?? '');
    await assert.rejects(other.console.user.get(), { code: 'signed_out' });
    await assert.rejects(one.console.sessions.end(otherId ?? ''), { code: 'not_found' });
    await above.console.sessions.end(oneId ?? '');
    await assert.rejects(one.console.user.get(), { code: 'signed_out' });
    await top.console.sessions.end(topId ?? '');
    await assert.rejects(top.console.user.get(), { code: 'signed_out' }, 'its own, too');
    const rows = await carillon.store.read
      .selectFrom('audit')
      .select(['subject', 'detail', 'user_id'])
      .where('action', '=', 'session.ended')
      .orderBy('audit_id')
      .execute();
    const because = 'ended by hand';
    assert.deepEqual(
      rows.map(({ subject, detail, user_id }) => [subject, JSON.parse(detail), String(user_id)]),
      [
        [`session ${otherId}`, { user_id: member.userId, because }, member.userId],
        [`session ${oneId}`, { user_id: member.userId, because }, admin.userId],
        [`session ${topId}`, { user_id: owner.userId, because }, owner.userId],
      ],
    );
  });

  store.test('a session ends after 30 days, and after 14 without being used; and then it goes', async (t) => {
    const begun = Date.parse('2027-01-01T00:00:00Z');
    let now = begun;
    const carillon = await store.testService(t, { deps: { clock: { ...systemClock, now: () => now } } });
    const owner = await carillon.createAccount('acme.test');
    const [used, unused] = [await carillon.signIn(owner), await carillon.signIn(owner)];
    const statusAt = async (who: typeof used, at: number) => {
      now = begun + at;
      return (await carillon.call(who, 'GET', '/console/api/user')).status;
    };
    const own = async () => (await used.console.sessions.list()).data;
    assert.equal((await own())[0]?.expires, '2027-01-15 00:00:00');
    assert.equal(await statusAt(used, 14 * DAY_MS - 1), 200);
    const written = async () =>
      (
        await carillon.store.read
          .selectFrom('sessions')
          .select(({ fn }) => fn.max('last_used').as('last'))
          .execute()
      )[0];
    await eventually(written, (row) => row?.last === now);
    assert.equal(await statusAt(unused, 14 * DAY_MS), 401);
    assert.equal(await statusAt(used, 27 * DAY_MS), 200);
    const [only, ...more] = await eventually(own, ([one]) => one?.last_used === '2027-01-28 00:00:00');
    assert.equal(more.length, 0, 'what has ended is not listed');
    assert.equal(only?.expires, '2027-01-31 00:00:00', 'thirty days after it began, however much it is used');
    assert.deepEqual([await statusAt(used, 30 * DAY_MS - 1), await statusAt(used, 30 * DAY_MS)], [200, 401]);
    await deleteExpiredSessions(carillon.store, now, () => false);
    assert.deepEqual(await carillon.store.read.selectFrom('sessions').select('session_id').execute(), []);
  });

  store.test('when a session was last used is written down at most once a minute', async (t) => {
    const clock = createTestClock();
    const carillon = await store.testService(t, { deps: { clock } });
    const session = await carillon.signIn(await carillon.createAccount('acme.test'));
    const written = async () =>
      (await carillon.store.read.selectFrom('sessions').select('last_used').executeTakeFirstOrThrow()).last_used;
    const begun = clock.now();
    await clock.advance(59_000);
    await session.console.user.get();
    await clock.advance(1_000);
    assert.equal(await written(), begun);
    await session.console.user.get();
    const at = clock.now();
    await clock.advance(1_000);
    await eventually(written, (last) => last === at);
    await session.console.user.get();
    await clock.advance(30_000);
    assert.equal(await written(), at);
  });
}

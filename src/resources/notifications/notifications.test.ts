import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sql } from 'kysely';
import { eventuallyAfterSteps } from '../../../test/kit/eventually.ts';
import type { ApiUser, TestService } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { permissions } from '../../permissions.ts';

for (const { test, testService } of stores) {
  const now = Date.parse('2027-01-01T12:00:00Z');
  const carillon = await testService({ after }, { deps: { clock: { ...systemClock, now: () => now } } });
  const FEED = '/v2/notifications';
  const day = { start_date: '20270101', due_date: '20270102' };

  const feed = async (who: ApiUser, query = '') => {
    const { status, json, text } = await carillon.call(who, 'GET', `${FEED}${query}`);
    assert.equal(status, 200, text);
    return json;
  };
  const kindsIn = ({ data }: { data: { kind: string }[] }) => data.map(({ kind }) => kind);
  const refused = async (who: ApiUser, query: string) => {
    const { status, json } = await carillon.call(who, 'GET', `${FEED}${query}`);
    return [status, json.code];
  };

  test('X2 the feed has all occurrences in order, with or without hooks: cursor, kind, address, time and user', async () => {
    const owner = await carillon.createAccount('order.test');
    const { events, clients } = owner.carillon;
    const { event_id } = await events.create({ event_name: 'Launch', ...day });
    await events.update(event_id, { event_name: 'Later' });
    const { client_id } = await clients.create({ client_name: 'ACME' });
    await events.delete(event_id);
    const entry = (cursor: string, kind: string, path: string, fields: readonly string[] = []) => ({
      cursor,
      kind,
      resource_url: `${carillon.baseUrl}/v2/${path}`,
      occurred_at: '2027-01-01 12:00:00',
      user_id: owner.userId,
      project_id: '0',
      previous_project_id: '0',
      fields,
    });
    assert.deepEqual(await feed(owner), {
      data: [
        entry('1', 'new_event', `events/${event_id}`),
        entry('2', 'changed_event', `events/${event_id}`, ['event_name']),
        entry('3', 'new_client', `clients/${client_id}`),
        entry('4', 'deleted_event', `events/${event_id}`),
      ],
      next: '4',
    });
    assert.equal(
      (await carillon.store.read.selectFrom('pending_deliveries').selectAll().execute()).length,
      0,
      'nobody was told',
    );
    const { data, next } = await owner.carillon.notifications.list({ after: '2', limit: 1 });
    assert.deepEqual([data.map(({ kind }) => kind), next], [['new_client'], '3']);
  });

  test('X2 the feed has all kinds: the seven of hooks and the others', async () => {
    const owner = await carillon.createAccount('kinds.test');
    const { clients, projects, tasks, subtasks, users } = owner.carillon;
    const { client_id } = await clients.create({ client_name: 'ACME' });
    const { project_id } = await projects.create({ project_name: 'One', client_id });
    const { task_id } = await tasks.create(project_id, { task_name: 'Do' });
    await subtasks.create(task_id, { subtask_name: 'Begin' });
    await tasks.complete(task_id);
    const { user_id } = await users.create({ email: 'new@kinds.test' });
    await users.update(user_id, { last_name: 'Other' });
    await projects.delete(project_id);
    await clients.delete(client_id);
    assert.deepEqual(kindsIn(await feed(owner)), [
      'new_client',
      'new_project',
      'new_task',
      'new_subtask',
      'completed_subtask',
      'completed_task',
      'new_user',
      'changed_user',
      'deleted_subtask',
      'deleted_task',
      'deleted_project',
      'deleted_client',
    ]);
  });

  test('X2 an empty page repeats the cursor, also in an account without occurrences', async () => {
    const owner = await carillon.createAccount('empty.test');
    for (const query of ['', '?after=0', '?limit=1', '?scope=account&kind=new_task']) {
      assert.deepEqual(await feed(owner, query), { data: [], next: '0' }, query);
    }
    await owner.carillon.clients.create({ client_name: 'ACME' });
    assert.deepEqual(kindsIn(await feed(owner, '?after=0')), ['new_client']);
    assert.deepEqual(await feed(owner, '?after=1'), { data: [], next: '1' });
  });

  test('X2 a user sees own occurrences; scope=account is for admins and limited to their account', async () => {
    const owner = await carillon.createAccount('scope.test');
    const stranger = await carillon.createAccount('scope-not.test');
    const member = await carillon.createUser(owner, 'member');
    await stranger.carillon.clients.create({ client_name: 'Theirs' });
    await owner.carillon.clients.create({ client_name: 'By the owner' });
    await member.carillon.projects.create({ project_name: 'By the member' });
    await owner.carillon.events.create({ event_name: 'For the member', ...day, user_id: member.userId });

    assert.deepEqual(kindsIn(await feed(owner)), ['new_client']);
    assert.deepEqual(kindsIn(await feed(owner, '?scope=own')), ['new_client']);
    assert.deepEqual(kindsIn(await feed(member)), ['new_project', 'new_event'], 'the recorded creator, as for hooks');
    const all = await feed(owner, '?scope=account');
    assert.deepEqual(kindsIn(all), ['new_client', 'new_project', 'new_event']);
    assert.deepEqual(
      all.data.map(({ user_id }: { user_id: string }) => user_id),
      [owner.userId, member.userId, member.userId],
    );
    assert.deepEqual(await refused(member, '?scope=account'), [401, 'not_permitted']);
    assert.equal((await feed(owner)).next, '3', 'the cursor lies behind what others did');
  });

  test('X2 entries that the key may not read or that are filtered out are skipped, and the cursor is after them', async () => {
    const owner = await carillon.createAccount('narrow.test');
    await owner.carillon.clients.create({ client_name: 'ACME' });
    await owner.carillon.events.create({ event_name: 'Launch', ...day });
    await owner.carillon.clients.create({ client_name: 'Other' });
    const narrow = await carillon.createKey(owner, { permissions: ['hooks:read', 'events:read'] });
    assert.deepEqual(kindsIn(await feed(narrow)), ['new_event']);
    assert.equal((await feed(narrow)).next, '3');
    assert.deepEqual(await feed(narrow, '?after=2'), { data: [], next: '3' });
    const one = await feed(owner, '?kind=new_client&limit=1');
    assert.deepEqual([kindsIn(one), one.next], [['new_client'], '1']);
    const other = await feed(owner, `?kind=new_client&limit=1&after=${one.next}`);
    assert.deepEqual([kindsIn(other), other.next], [['new_client'], '3']);
    const blind = await carillon.createKey(owner, { permissions: permissions.filter((one) => one !== 'hooks:read') });
    assert.deepEqual(await refused(blind, ''), [401, 'not_permitted']);
  });

  test('X2 pages have each entry once, for any limit', async () => {
    const owner = await carillon.createAccount('pages.test');
    for (let count = 1; count <= 25; count += 1) await owner.carillon.clients.create({ client_name: `C${count}` });
    for (const limit of [1, 7, 25, 26, 5_000]) {
      const cursors: string[] = [];
      for (let after = '0'; ; ) {
        const { data, next } = await feed(owner, `?after=${after}&limit=${limit}`);
        assert.ok(data.length <= limit);
        if (data.length === 0) break;
        cursors.push(...data.map(({ cursor }: { cursor: string }) => cursor));
        after = next;
      }
      assert.deepEqual(
        cursors,
        Array.from({ length: 25 }, (_, index) => String(index + 1)),
        `limit ${limit}`,
      );
    }
  });

  test('C4 X2 an invalid parameter is rejected, naming it', async () => {
    const owner = await carillon.createAccount('malformed.test');
    const wrong: Readonly<Record<string, readonly string[]>> = {
      after: ['', 'x', '-1', '1.5', '01', '1e3', '%201', '9007199254740992', '99999999999999999'],
      limit: ['0', '-1', 'x', ''],
      wait: ['-1', '1.5', 'x', ''],
      kind: ['', 'event', 'test', 'NEW_EVENT', 'constructor'],
      scope: ['', 'all'],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { status, json } = await carillon.call(owner, 'GET', `${FEED}?${name}=${value}`);
        assert.equal(status, 400, `${name}=${value}`);
        assert.deepEqual(
          json.errors.map(({ field }: { field: string }) => field),
          [name],
        );
      }
      assert.deepEqual(await refused(owner, `?${name}=1&${name}=1`), [400, 'invalid_input'], name);
    }
  });

  /** Deletes all occurrences up to a position, as retention does. */
  async function deleteOccurrences({ store }: TestService, domain: string, until: number): Promise<void> {
    const accountId = await accountOf(domain);
    await store.write(({ queries }) =>
      queries.deleteFrom('occurrences').where('account_id', '=', accountId).where('position', '<=', until).execute(),
    );
  }

  async function accountOf(domain: string): Promise<number> {
    const query = carillon.store.read.selectFrom('accounts').select('account_id').where('domain', '=', domain);
    return (await query.executeTakeFirstOrThrow()).account_id;
  }

  test('X2 after=latest starts after all entries, visible or not, and returns only later ones', async () => {
    const owner = await carillon.createAccount('latest.test');
    const member = await carillon.createUser(owner, 'member');
    assert.deepEqual(await feed(owner, '?after=latest'), { data: [], next: '0' });
    await owner.carillon.clients.create({ client_name: 'Before' });
    for (const who of [owner, member])
      assert.deepEqual(await feed(who, '?after=latest&scope=own'), { data: [], next: '1' });
    const waiting = feed(owner, '?after=latest&wait=30');
    let isTold = false;
    void waiting.finally(() => {
      isTold = true;
    });
    // The call may begin to wait at any step, so an occurrence is created at each step.
    const happen = () => owner.carillon.clients.create({ client_name: 'Then' });
    await eventuallyAfterSteps(happen, () => isTold, Boolean);
    const { data, next } = await waiting;
    assert.deepEqual([data[0].kind, data.at(-1).cursor], ['new_client', next]);
    assert.ok(Number(data[0].cursor) > 1);
    const { status, json } = await carillon.call(owner, 'GET', `${FEED}?after=newest`);
    const message = 'must be a cursor that was answered before, or latest';
    assert.deepEqual([status, json.errors], [400, [{ field: 'after', message }]]);
  });

  test('X2 a cursor is 410 if later entries were deleted, or if it was never issued', async () => {
    const owner = await carillon.createAccount('old.test');
    for (let count = 1; count <= 6; count += 1) await owner.carillon.clients.create({ client_name: `C${count}` });
    for (const cursor of ['7', '9007199254740991']) {
      assert.deepEqual(await refused(owner, `?after=${cursor}`), [410, 'cursor_gone'], cursor);
    }
    await deleteOccurrences(carillon, 'old.test', 3);
    for (const cursor of ['0', '1', '2']) {
      assert.deepEqual(await refused(owner, `?after=${cursor}`), [410, 'cursor_gone'], cursor);
      assert.deepEqual(await refused(owner, `?after=${cursor}&kind=new_task`), [410, 'cursor_gone'], cursor);
    }
    for (const cursor of ['3', '4', '5', '6']) {
      const { data, next } = await feed(owner, `?after=${cursor}`);
      assert.deepEqual([data.length, next], [6 - Number(cursor), '6'], cursor);
    }
    assert.equal((await feed(owner)).data[0].cursor, '4', 'from the oldest that is kept');
    await assert.rejects(owner.carillon.notifications.list({ after: '0' }), { code: 'cursor_gone', status: 410 });

    await deleteOccurrences(carillon, 'old.test', 6);
    assert.deepEqual(await feed(owner), { data: [], next: '6' }, 'nothing is kept');
    assert.deepEqual(await feed(owner, '?after=6'), { data: [], next: '6' });
    assert.deepEqual(await refused(owner, '?after=5'), [410, 'cursor_gone']);
    await owner.carillon.clients.create({ client_name: 'C7' });
    for (const query of ['', '?after=6']) assert.equal((await feed(owner, query)).data[0].cursor, '7');
  });

  test('X2 a cursor from before a restore is 410, and earlier entries are not returned', async () => {
    const owner = await carillon.createAccount('restored.test');
    for (let count = 1; count <= 3; count += 1) await owner.carillon.clients.create({ client_name: `C${count}` });
    const accountId = await accountOf('restored.test');
    await carillon.store.write(({ queries }) =>
      queries
        .updateTable('positions')
        .set({ position: 1_000, epoch_start: 1_000 })
        .where('account_id', '=', accountId)
        .execute(),
    );
    for (const cursor of ['0', '2', '3', '4', '999']) {
      assert.deepEqual(await refused(owner, `?after=${cursor}`), [410, 'cursor_gone'], cursor);
    }
    for (const query of ['', '?after=1000']) assert.deepEqual(await feed(owner, query), { data: [], next: '1000' });
    await owner.carillon.clients.create({ client_name: 'after' });
    for (const query of ['', '?after=1000']) {
      const { data, next } = await feed(owner, query);
      assert.deepEqual([data.length, data[0].cursor, next], [1, '1001', '1001']);
    }
    assert.deepEqual(await refused(owner, '?after=3'), [410, 'cursor_gone']);
  });

  test('X2 one call scans at most ten thousand occurrences, however many are skipped', async () => {
    const owner = await carillon.createAccount('many.test');
    const member = await carillon.createUser(owner, 'member');
    const accountId = await accountOf('many.test');
    await carillon.store.write(async ({ queries }) => {
      await sql`insert into occurrences (account_id, position, kind, user_id, record_id, occurred_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 25000)
        select ${sql.lit(accountId)}, i, 'new_client', case when i = 25000 then ${sql.lit(Number(member.userId))} else ${sql.lit(Number(owner.userId))} end,
          1, ${sql.lit(now)} from n`.execute(queries);
      await queries.updateTable('positions').set({ position: 25_000 }).where('account_id', '=', accountId).execute();
    });
    assert.deepEqual(await feed(member), { data: [], next: '10000' });
    assert.deepEqual(await feed(member, '?after=10000'), { data: [], next: '20000' });
    const last = await feed(member, '?after=20000');
    assert.deepEqual([last.data.length, last.next], [1, '25000']);
    const waited = await feed(member, '?wait=30');
    assert.deepEqual([waited.data.length, waited.next], [1, '25000'], 'a call that may wait reads on');
  });

  test('X2 a reader concurrent with many writers sees every position once, in order', async () => {
    const owner = await carillon.createAccount('gapless.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'One' });
    const WRITERS = 16;
    let writing = WRITERS;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let count = 1; count <= 6; count += 1) {
        const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: `T${writer}` });
        await owner.carillon.subtasks.create(task_id, { subtask_name: 'S' });
        // The deletion records two occurrences in one transaction. The failing call records none.
        await owner.carillon.tasks.delete(task_id);
        await assert.rejects(owner.carillon.tasks.delete(task_id));
      }
      writing -= 1;
    });
    const seen: number[] = [];
    for (let after = '0'; ; ) {
      const wasWriting = writing > 0;
      const { data, next } = await feed(owner, `?after=${after}&limit=50`);
      seen.push(...data.map(({ cursor }: { cursor: string }) => Number(cursor)));
      after = next;
      if (data.length === 0 && !wasWriting) break;
    }
    await Promise.all(writers);
    const wanted = 1 + WRITERS * 6 * 4;
    assert.deepEqual(
      seen,
      Array.from({ length: wanted }, (_, index) => index + 1),
    );
  });
}

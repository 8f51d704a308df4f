import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import { createOneOfEach } from '../../kit/api/furnished-account.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { runCarillon, runCarillonJson } from '../../kit/service/command.ts';
import { runKilledImport } from '../../kit/service/export-import.ts';
import { createReleaseDatabase, releases } from '../../kit/service/packages.ts';
import { isAccepted } from '../../kit/service/receiver.ts';
import { createTemporaryFolder, startTestService } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

type Row = Readonly<Record<string, unknown>>;

/** Columns that later versions dropped or changed, by table. All other columns must keep their values. */
const CHANGED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  hooks: ['lease_owner', 'leased_until', 'kind'],
  ...{ tasks: ['recurring'], subtasks: ['recurring'] },
};

/** New names of the tables and columns that later versions renamed. */
const NEW_NAMES: Readonly<Record<string, string>> = {
  owed: 'pending_deliveries',
  settled: 'finalized_deliveries',
  asks: 'manual_attempts',
  owed_at: 'created_at',
  settled_at: 'finalized_at',
  ask_id: 'manual_attempt_id',
  noun: 'resource_type',
};
const currentName = (name: unknown) => NEW_NAMES[String(name)] ?? String(name);

function readEveryRow(path: string): Map<string, Row[]> {
  const database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all();
  const rows = tables.map(({ name }) => [String(name), database.prepare(`select * from ${name}`).all()] as const);
  database.close();
  return new Map(rows);
}

/**
 * Returns a clock that starts an hour after the old release stopped: all retry waits are over, and no row has expired.
 */
function clockHourAfter(path: string): Clock {
  const last = Number(readEveryRow(path).get('attempts')?.at(-1)?.attempted_at);
  const startedAt = systemClock.monotonic();
  return { ...systemClock, now: () => Math.round(last + 3_600_000 + systemClock.monotonic() - startedAt) };
}

test('there is a stored database of a release', () => {
  assert.ok(releases.some(({ version }) => version === '0.1.0'));
});

for (const release of releases) {
  test(`a database of ${release.version} is migrated with every row, and a copy of the original is kept`, async (t) => {
    const path = createReleaseDatabase(t, release);
    const before = readEveryRow(path);
    const store = await openStoreAt(t, `sqlite:${path}`);
    await store.probe();
    await store.close();
    const after = readEveryRow(path);
    for (const [table, rows] of before) {
      if (table === 'migrations' || table === 'sqlite_sequence') continue;
      const columns = Object.keys(rows[0] ?? {}).filter((column) => !CHANGED_COLUMNS[table]?.includes(column));
      const valuesOf = (all: readonly Row[] = [], names: readonly string[]) =>
        all.map((row) => names.map((name) => row[name]));
      assert.deepEqual(
        valuesOf(after.get(currentName(table)), columns.map(currentName)),
        valuesOf(rows, columns),
        table,
      );
    }
    for (const { name, seq } of before.get('sqlite_sequence') ?? []) {
      const now = after.get('sqlite_sequence')?.find((row) => row.name === currentName(name))?.seq;
      assert.equal(now, seq, `${name} continues its ids`);
    }
    const [kept, ...more] = readdirSync(dirname(path)).filter((file) => file.startsWith(`${basename(path)}.before-`));
    assert.deepEqual(more, []);
    assert.match(kept ?? '', /^carillon\.db\.before-0002-\d{8}T\d{6}$/);
    assert.deepEqual(readEveryRow(join(dirname(path), kept ?? '')), before);
  });

  test(`C20 a service continues with a database of ${release.version}: keys work, pending deliveries are sent, ended hooks can be restored`, async (t) => {
    const target = await startTarget(t);
    const path = createReleaseDatabase(t, release, target.url);
    const before = readEveryRow(path);
    const service = await startTestService(t, `sqlite:${path}`, { deps: { clock: clockHourAfter(path) } });
    const { baseUrl } = service;
    const as = (name: string, domain = 'acme.test') =>
      new Carillon({ baseUrl, auth: apiKey({ domain, key: release.keys[name] ?? '' }) });
    const owner = as('acme.test');

    const events = await owner.events.list();
    assert.deepEqual(events.data.map(({ event_name }) => event_name).sort(), ['First', 'Second', "The member's"]);
    const [project] = (await owner.projects.list()).data;
    assert.deepEqual([project?.client_name, project?.users.length], ['Ümit & Söhne 🛎️', 1]);
    const tasks = (await owner.tasks.list()).data.map(({ task_name, completed }) => [task_name, completed]);
    assert.deepEqual(tasks, [
      ['Done', '1'],
      ['Open', '0'],
    ]);
    assert.equal((await owner.subtasks.list()).data[0]?.completed, '1');
    assert.equal((await as('other.test', 'other.test').events.list()).data[0]?.event_name, 'Of the other account');

    assert.equal((await as('member').user.get()).email, 'member@acme.test');
    assert.equal((await as('narrow').events.list()).paging.total_records, 3);
    await assert.rejects(as('narrow').clients.list(), { code: 'not_permitted' });
    await assert.rejects(as('revoked').user.get(), { code: 'unauthorized' });
    await assert.rejects(as('other.test').user.get(), { code: 'unauthorized' });

    // Deliveries are pending for hook 2, which waited after a failure, and for hook 4, whose attempt a kill
    // interrupted.
    const pending = (before.get('owed') ?? []).filter(({ hook_id }) => [2, 4].includes(Number(hook_id)));
    assert.ok(pending.length >= 4, 'two tasks, a client, a test');
    await eventually(
      () => pending.filter(({ delivery_id }) => !target.received.some((one) => one.deliveryId === String(delivery_id))),
      (missing) => missing.length === 0,
    );
    const received = new Map(target.received.map((one) => [one.deliveryId, one]));
    for (const { delivery_id, kind, record_id } of pending) {
      const collection = kind === 'test' ? 'hooks' : `${String(kind).replace('new_', '')}s`;
      assert.equal(received.get(String(delivery_id))?.resourceUrl, `${baseUrl}/v2/${collection}/${record_id}`);
    }
    const failing = await eventually(
      () => owner.hooks.get(release.hooks.failing?.id ?? ''),
      ({ state }) => state === 'live',
    );
    assert.deepEqual([failing.failures, failing.last_outcome], ['0', '200']);

    const refusing = release.hooks.refusing?.id ?? '';
    assert.equal((await owner.hooks.get(refusing)).ended_reason, 'answered_401');
    assert.equal((await owner.hooks.get(release.hooks.deleted?.id ?? '')).ended_reason, 'deleted');
    await owner.hooks.restore(refusing);
    const missed = () => target.received.filter((one) => one.path === '/refusing');
    // The restored hook gets the delivery that failed with 401, and the completion that it missed while it was ended.
    await eventually(missed, (all) => all.length === 2);

    const last = Number((before.get('sqlite_sequence') ?? []).find(({ name }) => name === 'events')?.seq);
    const { event_id } = await owner.events.create({
      event_name: 'Of today',
      start_date: '20270101',
      due_date: '20270102',
    });
    assert.equal(event_id, String(last + 1));
    await eventually(
      () => target.received.filter((one) => one.path === '/live').map((one) => one.resourceUrl),
      (urls) => urls.includes(`${baseUrl}/v2/events/${event_id}`),
    );
    const finalized = (before.get('settled') ?? []).map(({ delivery_id }) => String(delivery_id));
    assert.deepEqual(
      finalized.filter((id) => received.has(id)),
      [],
      'finalized deliveries are not sent again',
    );
  });
}

const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const options = { retryWaits: '1h,2h' };

for (const from of stores) {
  for (const to of stores) {
    from.test(
      `C5 C18 C20 X2 X8 moved to ${to.name}: pending deliveries keep their ids and secrets, and waits, ids and cursors continue`,
      async (t) => {
        const path = join(createTemporaryFolder(t), 'service.jsonl');
        const target = await startTarget(t);
        const attempt: SendAttempt = async ({ target: url }) =>
          url.endsWith('/sick')
            ? { kind: 'failed', cause: 'refused', durationMs: 1 }
            : { kind: 'local_error', code: 'no_route', durationMs: 1 };
        const source = await from.testService(t, { options, deps: { sendAttempt: attempt } });
        const owner = await source.createAccount('acme.test');
        const { hooks, events, clients, deliveries } = owner.carillon;
        const { id: sick } = await hooks.create({ target_url: target.urlOf('/sick'), event: 'new_client' });
        const { id: well } = await hooks.create({ target_url: target.urlOf('/well'), event: 'new_event' });
        const { secret } = await hooks.createSecret(well);
        await clients.create({ client_name: 'ACME' });
        const failing = await eventually(
          () => hooks.get(sick),
          (hook) => hook.state === 'failing',
        );
        for (let count = 0; count < 3; count += 1) await events.create(event);
        const { event_id: last } = await events.create(event);
        await events.delete(last);
        const pending = (await deliveries.list({ hook_id: well })).data.map(({ id }) => id);
        assert.equal(pending.length, 4);
        const feed = await source.call(owner, 'GET', '/v2/notifications');
        assert.equal(feed.json.data.length, 6);
        await source.stop();

        const moved = await runCarillonJson(['export', '--database', source.database, '--to', path]);
        const into = await to.database(t);
        assert.deepEqual(await runCarillonJson(['import', '--database', into, '--from', path]), moved);

        const destination = await to.testService(t, { options, database: into });
        const delivered = await target.waitForArrivals(4);
        assert.deepEqual(delivered.map(({ deliveryId }) => deliveryId).sort(), [...pending].sort());
        assert.deepEqual([...new Set(delivered.map((one) => one.path))], ['/well']);
        assert.ok(delivered.every((one) => isAccepted(secret, one)));
        for (const { resourceUrl } of delivered) assert.ok(resourceUrl.startsWith(`${destination.baseUrl}/v2/events/`));

        const hook = await destination.call(owner, 'GET', `/v2/hooks/${sick}`);
        assert.deepEqual(hook.json.data, failing);
        const { next } = feed.json;
        const rest = await destination.call(owner, 'GET', `/v2/notifications?after=${next}`);
        assert.deepEqual([rest.status, rest.json.data, rest.json.next], [200, [], next]);
        const made = await destination.call(owner, 'POST', '/v2/events', event);
        assert.equal(made.json.data.event_id, String(Number(last) + 1));
        const after = await destination.call(owner, 'GET', `/v2/notifications?after=${next}`);
        assert.deepEqual(
          after.json.data.map(({ resource_url }: { resource_url: string }) => resource_url),
          [`${destination.baseUrl}/v2/events/${made.json.data.event_id}`],
        );
        assert.equal((await target.waitForArrivals(5)).length, 5);
      },
    );
  }
}

for (const { test, database, testService } of stores) {
  test('with an unfinished import no service starts and no command works, each with a one-line error', async (t) => {
    const path = join(createTemporaryFolder(t), 'service.jsonl');
    const source = await testService(t);
    const target = await startTarget(t);
    let hooks = 0;
    await createOneOfEach(await source.createAccount('acme.test'), source, () => {
      hooks += 1;
      return target.urlOf(`/${hooks}`);
    });
    await source.stop();
    const { rows } = await runCarillonJson(['export', '--database', source.database, '--to', path]);
    const into = await database(t);
    assert.equal(await runKilledImport(into, path, 'import', rows), 'SIGKILL');

    const expectedError =
      'An import into this database is incomplete: carillon import --resume continues it, carillon import --undo removes it.';
    const arrivedBefore = target.received.length;
    for (const args of [
      ['serve', '--port', '0'],
      ['keys', 'list', '--domain', 'acme.test'],
      ['accounts', 'create', '--domain', 'b.test', '--email', 'b@b.test'],
      ['export', '--to', '-'],
      ['import', '--from', path],
    ]) {
      const ended = await runCarillon([...args, '--database', into]);
      assert.deepEqual([ended.code, ended.stdout, ended.stderrLines], [1, '', [expectedError]], args.join(' '));
    }
    assert.equal(target.received.length, arrivedBefore);
    const { sha256 } = await runCarillonJson(['import', '--database', into, '--from', path, '--resume']);
    assert.match(sha256, /^[0-9a-f]{64}$/);
    const destination = await testService(t, { database: into });
    assert.equal((await fetch(`${destination.baseUrl}/readyz`)).status, 200);
  });

  test('while a service runs, accounts can be exported, but not imported or removed', async (t) => {
    const folder = createTemporaryFolder(t);
    const running = await testService(t);
    const owner = await running.createAccount('acme.test');
    await owner.carillon.events.create(event);
    const path = join(folder, 'acme.jsonl');
    const moved = await runCarillonJson([
      'export',
      '--database',
      running.database,
      '--domain',
      'acme.test',
      '--to',
      path,
    ]);
    assert.deepEqual([moved.tables.accounts, moved.tables.events], [1, 1]);
    for (const args of [
      ['import', '--from', path],
      ['import', '--undo'],
      ['accounts', 'delete', '--domain', 'acme.test', '--exported', path],
    ]) {
      const ended = await runCarillon([...args, '--database', running.database]);
      assert.deepEqual([ended.code, ended.stdout, ended.stderrLines.length], [1, '', 1], args.join(' '));
    }
    await owner.carillon.events.create(event);
    await running.stop();

    const late = await runCarillon([
      'accounts',
      'delete',
      '--database',
      running.database,
      '--domain',
      'acme.test',
      '--exported',
      path,
    ]);
    assert.equal(late.code, 1);
    assert.match(late.stderrLines.join('\n'), /^positions: .*\nevents: 2 rows in the database, 1 in the file\.\n/m);
    const again = join(folder, 'again.jsonl');
    await runCarillonJson(['export', '--database', running.database, '--domain', 'acme.test', '--to', again]);
    const deletion = [
      'accounts',
      'delete',
      '--database',
      running.database,
      '--domain',
      'acme.test',
      '--exported',
      again,
    ];
    assert.equal((await runCarillonJson(deletion)).domain, 'acme.test');

    const there = await testService(t, { database: running.database });
    assert.equal((await there.call(owner, 'GET', '/v2/events')).status, 401);
    await there.stop();
    const back = await runCarillon(['import', '--database', running.database, '--from', again]);
    assert.deepEqual([back.code, back.stderrLines], [0, []]);
    const whole = await testService(t, { database: running.database });
    assert.equal((await whole.call(owner, 'GET', '/v2/events')).json.data.length, 2);
  });
}

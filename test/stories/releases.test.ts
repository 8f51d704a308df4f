import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { apiKey, Carillon } from '../../packages/sdk/src/index.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { load, releases } from '../kit/releases.ts';
import { startTestService } from '../kit/service.ts';
import { startTarget } from '../kit/target.ts';

type Row = Readonly<Record<string, unknown>>;

/** Columns that later versions dropped or changed. All others must keep their values. */
const CHANGED: Readonly<Record<string, readonly string[]>> = {
  hooks: ['lease_owner', 'leased_until'],
  ...{ tasks: ['recurring'], subtasks: ['recurring'] },
};

/** Tables and columns that later versions renamed. */
const RENAMED: Readonly<Record<string, string>> = {
  owed: 'pending_deliveries',
  settled: 'finalized_deliveries',
  asks: 'manual_attempts',
  owed_at: 'created_at',
  settled_at: 'finalized_at',
  ask_id: 'manual_attempt_id',
  noun: 'resource_type',
};
const currentName = (name: unknown) => RENAMED[String(name)] ?? String(name);

function everyRow(path: string): Map<string, Row[]> {
  const database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all();
  const rows = tables.map(({ name }) => [String(name), database.prepare(`select * from ${name}`).all()] as const);
  database.close();
  return new Map(rows);
}

/** A clock that starts one hour after the release stopped: no row has expired, and every wait is over. */
function hourAfter(path: string): Clock {
  const last = Number(everyRow(path).get('attempts')?.at(-1)?.attempted_at);
  const startedAt = systemClock.monotonic();
  return { ...systemClock, now: () => Math.round(last + 3_600_000 + systemClock.monotonic() - startedAt) };
}

test('there is a stored database of a release', () => {
  assert.ok(releases.some(({ version }) => version === '0.1.0'));
});

for (const release of releases) {
  test(`a database of ${release.version} is migrated with every row, and a copy of the original is kept`, async (t) => {
    const path = load(t, release);
    const before = everyRow(path);
    const store = await openAt(t, `sqlite:${path}`);
    await store.probe();
    await store.close();
    const after = everyRow(path);
    for (const [table, rows] of before) {
      if (table === 'migrations' || table === 'sqlite_sequence') continue;
      const columns = Object.keys(rows[0] ?? {}).filter((column) => !CHANGED[table]?.includes(column));
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
    assert.deepEqual(everyRow(join(dirname(path), kept ?? '')), before);
  });

  test(`C20 a service continues with a database of ${release.version}: keys work, pending deliveries are sent, ended hooks can be restored`, async (t) => {
    const target = await startTarget(t);
    const path = load(t, release, target.url);
    const before = everyRow(path);
    const service = await startTestService(t, `sqlite:${path}`, { ports: { clock: hourAfter(path) } });
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

    // Pending for the hook that waited after a failure, and for the hook whose attempt was interrupted by a kill.
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
    // The delivery that was answered with 401, and the completion that was missed while the hook was ended.
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

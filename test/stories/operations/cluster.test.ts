import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { getNewestSchemaVersion } from '../../../src/store/migrate.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { startProxy } from '../../kit/network/proxy.ts';
import { startTarget } from '../../kit/network/target.ts';
import {
  checkHistory,
  createRecords,
  describeCrash,
  findDuplicateDeliveryIds,
  readStoredEventPaths,
  startLoad,
} from '../../kit/service/load.ts';
import {
  countLogLines,
  readLeaseOwners,
  readPendingDeliveryIds,
  readRegisteredNodeIds,
  startSecondNode,
  userAtNode,
} from '../../kit/service/nodes.ts';
import type { ServiceProcess } from '../../kit/service/service-process.ts';
import { sharedStores } from '../../kit/service/stores.ts';
import { createTracedAttempt } from '../../kit/service/traced-attempts.ts';
import type { Crash } from '../../reliability/checker/history.ts';
import { copySource } from '../../reliability/mutations.ts';

for (const { test, serviceProcess, database: newDatabase } of sharedStores) {
  const HOOKS = 6;

  /** Time until an unresponsive node is evicted. A clean stop must hand over hook queues far faster. */
  const EVICTION_MS = 8_000;

  test('C20 C22 when one of two nodes is stopped, the other takes its hook queues immediately, even while the first waits for a hanging target', async (t) => {
    const database = await newDatabase(t);
    const stops = await serviceProcess(t, { CARILLON_DATABASE: database, CARILLON_ATTEMPT_TIMEOUT: '60s' });
    const store = await openStoreAt(t, database, { openAs: 'command' });
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 10));
    const hanging: ServerResponse[] = [];
    const hangs = await startTarget(t, (response) => void hanging.push(response));
    const paths = Array.from({ length: HOOKS }, (_, index) => `/${index}`);
    const ids: string[] = [];
    for (const path of paths) {
      ids.push((await stops.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' })).id);
    }
    await stops.carillon.hooks.create({ target_url: hangs.url, event: 'new_client' });
    const earlier = [
      ...(await createRecords(stops.carillon, 'new_client', ['Patience'])),
      ...(await createRecords(stops.carillon, 'new_event', ['First'])),
    ];
    const [stoppingNodeId] = await readRegisteredNodeIds(store);
    await eventually(
      () => readLeaseOwners(store),
      (owners) => ids.every((id) => owners.get(id) === stoppingNodeId),
    );
    await hangs.waitForArrivals(1);
    // Start the second node only now, so that it cannot have claimed the hook queues before.
    const stays = await startSecondNode(t, stops);
    const load = startLoad(t, [stays.carillon], 2);
    load.resume();
    await wait(300);
    const stopped = stops.stop('SIGTERM');
    const stoppedAt = performance.now();
    const owners = await eventually(
      () => readLeaseOwners(store),
      (now) => ids.every((id) => now.get(id) !== stoppingNodeId && now.get(id) !== 0),
      EVICTION_MS,
    );
    const tookMs = performance.now() - stoppedAt;
    assert.ok(ids.every((id) => owners.get(id) !== stoppingNodeId));
    assert.ok(
      (await readRegisteredNodeIds(store)).includes(stoppingNodeId ?? 0),
      'the node is still stopping, because of the hanging target',
    );
    for (const response of hanging) response.end();
    await load.stop();
    assert.equal(await stopped, 0);
    const wholeMs = performance.now() - stoppedAt;
    assert.ok(wholeMs < 10_000, `${wholeMs} ms`);
    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
      10_000,
    );
    assert.deepEqual(await checkHistory(database, { calls: [...earlier, ...load.calls] }, target, { paths }), []);
    assert.deepEqual(load.failures, []);
    t.diagnostic(
      `the other node had its hook queues after ${Math.round(tookMs)} ms, it exited after ${Math.round(wholeMs)} ms`,
    );
    assert.equal(await stays.stop('SIGTERM'), 0);
  });
}

for (const { test, serviceProcess, database: newDatabase } of sharedStores) {
  const HOOKS_PER_NODE = 3;

  test('C20 of four nodes under load two are killed and one is paused: the fourth delivers everything, and the paused one rejoins', async (t) => {
    const database = await newDatabase(t);
    const first = await serviceProcess(t, { CARILLON_DATABASE: database });
    const others = await Promise.all([1, 2, 3].map(() => startSecondNode(t, first)));
    const nodes = [first, ...others];
    const [killed, paused, alsoKilled, stays] = nodes;
    assert.ok(killed && paused && alsoKilled && stays);
    const store = await openStoreAt(t, database, { openAs: 'command' });
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 10));
    const paths: string[] = [];
    for (const [number, node] of nodes.entries()) {
      for (let index = 0; index < HOOKS_PER_NODE; index += 1) {
        const path = `/${number}-${index}`;
        await node.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' });
        paths.push(path);
      }
    }
    assert.equal((await readRegisteredNodeIds(store)).length, 4);
    const load = startLoad(
      t,
      nodes.map((node) => node.carillon),
      4,
    );
    load.resume();
    await wait(500);

    const crashes: Crash[] = [];
    const crash = async () => void crashes.push(await describeCrash(store, target));
    // Redirect the load first: errors of a killed process are not under test.
    load.redirectTo(stays.carillon);
    await load.pause();
    load.resume();
    killed.process.kill('SIGKILL');
    await crash();
    paused.process.kill('SIGSTOP');
    await crash();
    await wait(300);
    alsoKilled.process.kill('SIGKILL');
    await crash();
    await eventually(
      () => readRegisteredNodeIds(store),
      (left) => left.length === 1,
      15_000,
    );
    await crash();
    paused.process.kill('SIGCONT');
    await eventually(
      () => readRegisteredNodeIds(store),
      (now) => now.length === 2,
      10_000,
    );
    await wait(300);
    await load.stop();
    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
      20_000,
    );

    assert.deepEqual(await checkHistory(database, load, target, { paths, crashes }), []);
    assert.deepEqual(load.failures, []);
    t.diagnostic(`${load.acknowledgedPaths.size} events, ${target.received.length} delivered`);
    assert.deepEqual(await Promise.all([paused.stop('SIGTERM'), stays.stop('SIGTERM')]), [0, 0]);
  });
}

for (const { test, testService, database: newDatabase } of sharedStores) {
  const HOOKS = 4;
  const BACKLOG = 60;

  /** A node whose heartbeat is older than this starts no attempt. */
  const LEASE_TTL_MS = 1_000;

  test('C13 C20 a node that loses its database connection starts no more attempts; the other continues, and the node rejoins later', async (t) => {
    const database = await newDatabase(t);
    const proxy = await startProxy(t, database);
    const [near, far] = [createTracedAttempt(), createTracedAttempt()];
    const options = { retryWaits: '3s,3s' };
    const cutOff = await testService(t, { database: proxy.database, options, deps: { sendAttempt: far.attempt } });
    const store = await openStoreAt(t, database, { openAs: 'command' });
    const there = await cutOff.createAccount('acme.test');
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 50));
    const paths = Array.from({ length: HOOKS }, (_, index) => `/${index}`);
    const ids: string[] = [];
    for (const path of paths) {
      ids.push((await there.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' })).id);
    }
    const otherCalls = await createRecords(there.carillon, 'new_event', ['First']);
    const [lost] = await readRegisteredNodeIds(store);
    await eventually(
      () => readLeaseOwners(store),
      (owners) => ids.every((id) => owners.get(id) === lost),
    );
    // Start the second node only now, so that it cannot have claimed the hook queues before.
    const stays = await testService(t, { database, options, deps: { sendAttempt: near.attempt } });
    const owner = userAtNode(stays, there);
    const backlog = Array.from({ length: BACKLOG }, (_, index) => `Backlog ${index}`);
    otherCalls.push(...(await createRecords(there.carillon, 'new_event', backlog)));

    // The retry of this hook comes due while the database is unreachable. It could begin without a query.
    const fails = await startTarget(t, 500, 200);
    await there.carillon.hooks.create({ target_url: fails.urlOf('/fails'), event: 'new_client' });
    otherCalls.push(...(await createRecords(there.carillon, 'new_client', ['Second chance'])));
    await fails.waitForArrivals(1);

    proxy.reset();
    const cutAt = performance.now();
    const inFlight = await readPendingDeliveryIds(store);
    const load = startLoad(t, [owner.carillon], 1, 20);
    load.resume();
    const deleting = owner.carillon.hooks.delete(ids[0] ?? '').then(() => performance.now());
    await eventually(
      () => paths.slice(1).map((path) => near.traceOf(path).begun.length),
      (counts) => counts.every((count) => count > 0),
      15_000,
    );
    const deletedAt = await deleting;
    await load.stop();
    await fails.waitForArrivals(2);
    for (const path of ['/fails', ...paths]) {
      const begun = far.traceOf(path).begun;
      const [claimed = Number.POSITIVE_INFINITY] = near.traceOf(path).begun;
      assert.ok((begun.at(-1) ?? 0) <= cutAt + LEASE_TTL_MS, `${path}: an attempt began after the lease had expired`);
      assert.ok((begun.at(-1) ?? 0) <= claimed, `${path}: two nodes delivered concurrently`);
    }
    assert.equal(far.traceOf('/fails').begun.length + near.traceOf('/fails').begun.length, 2);
    const tookMs = Math.max(...paths.slice(1).map((path) => (near.traceOf(path).begun[0] ?? 0) - cutAt));
    assert.ok(tookMs < 15_000, `${tookMs} ms`);
    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
      10_000,
    );

    proxy.resumeForwarding();
    const mendedAt = performance.now();
    const [, back] = await eventually(
      () => readRegisteredNodeIds(store),
      (nodes) => nodes.length === 2,
      10_000,
    );
    assert.notEqual(back, lost, 'it rejoins as a new node');
    // Either node may claim a new hook queue first. Create hooks until the node that is back claims one.
    let round = 0;
    const claimed = await eventually(
      async () => {
        round += 1;
        const path = `/again-${round}`;
        const { id } = await there.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_client' });
        otherCalls.push(...(await createRecords(there.carillon, 'new_client', [`Back ${round}`])));
        const begun = (node: typeof far) => node.traceOf(path).begun.length;
        await eventually(
          () => begun(far) + begun(near),
          (count) => count > 0,
        );
        return begun(far) > 0 ? id : undefined;
      },
      (id) => id !== undefined,
    );
    const backMs = performance.now() - mendedAt;
    assert.equal((await readLeaseOwners(store)).get(claimed ?? ''), back);
    assert.equal(countLogLines(cutOff, 'node.evicted'), 1);

    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
    );
    const late = target.received.filter((one) => one.path === '/0' && one.at > deletedAt);
    assert.deepEqual(late, [], 'nothing goes to the hook after the 200 of its DELETE');
    // Deliveries whose results the node could not store may be sent again.
    const crashes = [{ at: cutAt + LEASE_TTL_MS, pending: inFlight, fates: new Map() }];
    const history = { calls: [...otherCalls, ...load.calls] };
    assert.deepEqual(await checkHistory(database, history, target, { paths: paths.slice(1), crashes }), []);
    assert.deepEqual(load.failures, []);
    t.diagnostic(
      `the hook queues continued after ${Math.round(tookMs)} ms, DELETE returned after ${Math.round(deletedAt - cutAt)} ms; back ${Math.round(backMs)} ms after the connection was restored; ${findDuplicateDeliveryIds(target).length} delivered twice`,
    );
  });
}

for (const { test, serviceProcess, database: newDatabase } of sharedStores) {
  const HOOKS = 3;
  const hooksFor = async ({ carillon }: ServiceProcess, at: (path: string) => string) => {
    const paths = Array.from({ length: HOOKS }, (_, index) => `/${index}`);
    for (const path of paths) await carillon.hooks.create({ target_url: at(path), event: 'new_event' });
    return paths;
  };

  test('C20 two versions run concurrently: a newer node migrates the database under load, and the older one keeps working', async (t) => {
    const copy = copySource();
    t.after(copy.remove);
    const number = String(getNewestSchemaVersion() + 1).padStart(4, '0');
    const migration = [
      "alter table events add column place {text} not null default '';",
      "alter table hooks add column note {text} not null default '';",
      'create table places (place_id {id}, account_id {int} not null) {table};',
    ];
    writeFileSync(join(copy.folder, `src/store/migrations/${number}_places.sql`), migration.join('\n'));
    const tables = join(copy.folder, 'src/store/tables.ts');
    const source = readFileSync(tables, 'utf8');
    writeFileSync(tables, source.replace('    event_id: issued,', '    event_id: issued, place: textOrDefault,'));
    const { startProcess } = (await import(
      pathToFileURL(join(copy.folder, 'test/kit/service/service-process.ts')).href
    )) as typeof import('../../kit/service/service-process.ts');

    const database = await newDatabase(t);
    const old = await serviceProcess(t, { CARILLON_DATABASE: database });
    const store = await openStoreAt(t, database, { openAs: 'command' });
    const target = await startTarget(t);
    const paths = await hooksFor(old, target.urlOf);
    // With twelve writers, every connection of the older node has prepared its statements.
    const load = startLoad(t, [old.carillon], 12, 0);
    load.resume();
    await eventually(
      () => load.acknowledgedPaths.size,
      (count) => count >= 100,
      10_000,
    );
    const newer = await startSecondNode(t, old, {}, startProcess);
    const migrated = sql<{ version: number }>`select max(version) as version from migrations`;
    assert.deepEqual((await migrated.execute(store.read)).rows, [{ version: Number(number) }]);
    const migratedAt = load.acknowledgedPaths.size;
    await eventually(
      () => load.acknowledgedPaths.size,
      (count) => count >= migratedAt + 50,
      10_000,
    );
    load.redirectTo(old.carillon, newer.carillon);
    await eventually(
      () => load.acknowledgedPaths.size,
      (count) => count >= migratedAt + 150,
      10_000,
    );
    // The older node reads and writes as before.
    const { data } = await old.carillon.events.list({ limit: 5 });
    const [some] = data;
    assert.equal(data.length, 5);
    assert.equal((await old.carillon.events.get(some?.event_id ?? '')).event_name, some?.event_name);
    assert.equal((await old.carillon.events.update(some?.event_id ?? '', { event_name: 'Tock' })).event_name, 'Tock');
    assert.equal((await newer.carillon.events.get(some?.event_id ?? '')).event_name, 'Tock');
    await newer.carillon.events.update(some?.event_id ?? '', { event_name: some?.event_name ?? '' });
    assert.equal((await old.carillon.hooks.list()).data.length, HOOKS);
    load.redirectTo(newer.carillon);
    assert.equal(await old.stop('SIGTERM'), 0);
    await load.stop();
    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
      10_000,
    );
    assert.deepEqual(load.failures, [], 'a request was not answered with 201');
    assert.deepEqual(await checkHistory(database, load, target, { paths }), []);
    assert.deepEqual(load.acknowledgedPaths, await readStoredEventPaths(store));
    t.diagnostic(`${load.acknowledgedPaths.size} events, ${migratedAt} of them before the migration`);
    assert.equal(await newer.stop('SIGTERM'), 0);
  });
}

for (const { test, serviceProcess, database: newDatabase } of sharedStores) {
  const ROUNDS = 8;

  test('C20 when all connections of a node are terminated under load, repeatedly, callers get 2xx or 503, the node recovers and nothing is lost', async (t) => {
    const database = await newDatabase(t);
    // Give the connections of the node a name in pg_stat_activity.
    const withName = (name: string) => `${database}?application_name=${name}`;
    const node = await serviceProcess(t, { CARILLON_DATABASE: withName('struck') });
    await startSecondNode(t, node, { CARILLON_DATABASE: withName('other'), CARILLON_ROLE: 'delivery' });
    const store = await openStoreAt(t, database, { openAs: 'command' });
    const target = await startTarget(t);
    const { id } = await node.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const connections = async () => {
      const { rows } = await sql<{ pid: number; state: string; query: string }>`
        select pid, state, query from pg_stat_activity
        where datname = current_database() and application_name = 'struck'`.execute(store.read);
      return rows;
    };
    const load = startLoad(t, [node.carillon], 8, 0);
    load.resume();
    let ended = 0;
    let inTransaction = 0;
    for (let time = 0; time < ROUNDS; time += 1) {
      const before = load.acknowledgedPaths.size;
      await eventually(
        () => load.acknowledgedPaths.size,
        (count) => count >= before + 25,
        10_000,
      );
      const { rows } = await sql<{ state: string }>`
        select state, pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'struck'`.execute(store.read);
      ended += rows.length;
      inTransaction += rows.filter(
        (row) => row.state?.startsWith('idle in transaction') || row.state === 'active',
      ).length;
    }
    await load.pause();
    assert.ok(ended >= ROUNDS * 2 && inTransaction > 0, `${ended} connections ended, ${inTransaction} at work`);
    const ready = await eventually(
      async () => (await fetch(`${node.baseUrl}/readyz`)).status,
      (status) => status === 200,
    );
    assert.equal(ready, 200);
    assert.deepEqual(
      load.failures.filter((error) => error.status !== 503).map((error) => `${error.status} ${error.message}`),
      [],
      'unexpected responses',
    );
    // The node has opened the reserved connection of its heartbeat again.
    await eventually(connections, (all) => all.some(({ query }) => /^(listen|update "nodes"|select)/i.test(query)));

    // The LISTEN connection is back: an event created by another node is delivered immediately, before the next poll.
    load.resume();
    const before = load.acknowledgedPaths.size;
    await eventually(
      () => load.acknowledgedPaths.size,
      (count) => count >= before + 10,
    );
    await load.stop();
    await eventually(
      () => readPendingDeliveryIds(store),
      (pending) => pending.size === 0,
      10_000,
    );
    const faults = await checkHistory(database, load, target, { paths: ['/'] });
    // A node that is cut off for a long time loses its leases, and its deliveries in flight are sent again.
    const { again = [], other = [] } = Object.groupBy(faults, ({ what }) =>
      what === 'unexplained duplicate' ? 'again' : 'other',
    );
    assert.deepEqual(other, []);
    assert.equal((await node.carillon.hooks.get(id)).state, 'live');
    t.diagnostic(
      `${ended} connections ended, ${inTransaction} of them at work; ${load.acknowledgedPaths.size} events, ${load.failures.length} answered 503, ${again.length} delivered twice`,
    );
    assert.equal(await node.stop('SIGTERM'), 0);
  });
}

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { newestVersion } from '../../src/store/migrate.ts';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { compareLedgers, startLoad, storedEvents } from '../kit/load.ts';
import { pendingNow, processBeside } from '../kit/nodes.ts';
import type { ServiceProcess } from '../kit/process.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';
import { copySource } from '../reliability/mutations.ts';

for (const { test, serviceProcess, database: newDatabase } of shared) {
  const HOOKS = 3;
  const hooksFor = async ({ carillon }: ServiceProcess, at: (path: string) => string) => {
    const paths = Array.from({ length: HOOKS }, (_, index) => `/${index}`);
    for (const path of paths) await carillon.hooks.create({ target_url: at(path), event: 'new_event' });
    return paths;
  };

  test('C20 two versions run concurrently: a newer node migrates the database under load, and the older one keeps working', async (t) => {
    const copy = copySource();
    t.after(copy.remove);
    const number = String(newestVersion() + 1).padStart(4, '0');
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
      pathToFileURL(join(copy.folder, 'test/kit/start-service.ts')).href
    )) as typeof import('../kit/start-service.ts');

    const database = await newDatabase(t);
    const old = await serviceProcess(t, { CARILLON_DATABASE: database });
    const store = await openAt(t, database, { as: 'command' });
    const target = await startTarget(t);
    const paths = await hooksFor(old, target.at);
    // Enough concurrency that every connection of the older node has prepared its statements.
    const load = startLoad(t, [old.carillon], 12, 0);
    load.resume();
    await eventually(
      () => load.acknowledged.size,
      (count) => count >= 100,
      10_000,
    );
    const newer = await processBeside(t, old, {}, startProcess);
    const migrated = sql<{ version: number }>`select max(version) as version from migrations`;
    assert.deepEqual((await migrated.execute(store.read)).rows, [{ version: Number(number) }]);
    const migratedAt = load.acknowledged.size;
    await eventually(
      () => load.acknowledged.size,
      (count) => count >= migratedAt + 50,
      10_000,
    );
    load.through(old.carillon, newer.carillon);
    await eventually(
      () => load.acknowledged.size,
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
    load.through(newer.carillon);
    assert.equal(await old.stop('SIGTERM'), 0);
    await load.stop();
    await eventually(
      () => pendingNow(store),
      (pending) => pending.size === 0,
      10_000,
    );
    assert.deepEqual(load.failures, [], 'a request was not answered with 201');
    assert.deepEqual(await compareLedgers(database, load, target, { paths }), []);
    assert.deepEqual(load.acknowledged, await storedEvents(store));
    t.diagnostic(`${load.acknowledged.size} events, ${migratedAt} of them before the migration`);
    assert.equal(await newer.stop('SIGTERM'), 0);
  });
}

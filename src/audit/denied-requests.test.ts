import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createTestClock } from '../../test/kit/clock.ts';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { eventually } from '../../test/kit/eventually.ts';
import type { Json, TestService } from '../../test/kit/service/service.ts';
import { stores } from '../../test/kit/service/stores.ts';
import { systemClock } from '../clock.ts';
import { Problem } from '../problems.ts';
import type { Store } from '../store/store.ts';
import { DeniedRequestLog } from './denied-requests.ts';

const denials = async ({ read }: Pick<Store, 'read'>): Promise<Json[]> => {
  const rows = await read
    .selectFrom('audit')
    .selectAll()
    .where('action', 'like', 'denied.%')
    .orderBy('audit_id')
    .execute();
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) }));
};

const written = ({ store }: TestService, count: number) =>
  eventually(
    () => denials(store),
    (rows) => rows.reduce((sum, { detail }) => sum + detail.count, 0) >= count,
  );

for (const { test, testService, database } of stores) {
  test('C1 C2 denied requests are in the audit log with key id, user, reason and source, never with the key', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const other = await carillon.createAccount('other.test');
    const narrow = await carillon.createKey(owner, { permissions: ['events:read'] });
    const revoked = await carillon.createKey(owner, {});
    const expired = await carillon.createKey(owner, { expiresAt: systemClock.now() - 1 });
    const { data: keys } = await owner.carillon.keys.list();
    const [, , revokedId = ''] = keys.map(({ id }) => id);
    await owner.carillon.keys.revoke(revokedId);
    const get = (key: string, domain = 'acme.test', path = '/v2/events') =>
      carillon.call(undefined, 'GET', path, undefined, { key, domain });

    for (let round = 0; round < 3; round += 1) await get('carillon_guessed');
    await get('carillon_guessed-again');
    await get('carillon_guessed', 'nowhere.test');
    await get(revoked.key);
    await get(expired.key);
    await get(other.key);
    await carillon.call(undefined, 'GET', '/v2/nowhere');
    await carillon.call(narrow, 'POST', '/v2/clients', { client_name: 'ACME' });
    assert.equal((await get(narrow.key)).status, 200);
    assert.equal((await get(owner.key, 'acme.test', '/v2/nowhere')).status, 404);
    const rows = await written(carillon, 10);

    const [{ account_id: acme } = { account_id: 0 }, { account_id: others } = { account_id: 0 }] =
      await carillon.store.read
        .selectFrom('accounts')
        .select('account_id')
        .where('domain', 'in', ['acme.test', 'other.test'])
        .orderBy('account_id')
        .execute();
    const seen = rows.map((row) => [row.action, row.account_id, row.subject, row.detail]);
    const expiredId = keys[3]?.id;
    assert.deepEqual(
      seen.sort((one, another) => (JSON.stringify(one) < JSON.stringify(another) ? -1 : 1)),
      [
        ['denied.invalid_key', acme, `key ${revokedId}`, { because: 'revoked', count: 1 }],
        ['denied.invalid_key', acme, `key ${expiredId}`, { because: 'expired', count: 1 }],
        [
          'denied.invalid_key',
          others,
          `key ${String((await other.carillon.keys.list()).data[0]?.id)}`,
          { because: 'shown with another domain', count: 1 },
        ],
        ['denied.not_permitted', acme, 'POST /v2/clients', { count: 1 }],
        ['denied.unknown_key', 0, '', { count: 2 }],
        ['denied.unknown_key', acme, '', { count: 4 }],
      ].sort((one, another) => (JSON.stringify(one) < JSON.stringify(another) ? -1 : 1)),
    );
    for (const { source } of rows) assert.equal(source, '127.0.0.1');
    const text = JSON.stringify(rows);
    for (const secret of ['guessed', revoked.key, expired.key, other.key]) assert.ok(!text.includes(secret));
  });

  test('pending groups are written at shutdown', async (t) => {
    const place = await database(t);
    const carillon = await testService(t, { database: place });
    await carillon.call(undefined, 'GET', '/v2/events');
    await carillon.stop();
    const store = await openStoreAt(t, place);
    assert.deepEqual(
      (await denials(store)).map(({ action, detail }) => [action, detail]),
      [['denied.unknown_key', { count: 1 }]],
    );
  });

  test('many denied requests cause few rows at growing intervals, and all are counted', async (t) => {
    const store = await openStoreAt(t, await database(t));
    const clock = createTestClock();
    let writes = 0;
    const counting: Store['write'] = (work) => {
      writes += 1;
      return store.write(work);
    };
    const gathering = new DeniedRequestLog({
      store: { ...store, write: counting },
      clock,
      log: pino({ level: 'silent' }),
    });
    const attack = (from: number) => {
      for (let number = 0; number < 100; number += 1) {
        const shown = { key: `carillon_${from}_${number}`, domain: 'acme.test' };
        gathering.addRequest({
          route: 'GET /v2/events',
          source: `192.0.2.${number % 250}`,
          caller: undefined,
          credentials: shown,
        });
      }
    };
    // Send a hundred denied requests a second, for an hour.
    let sum = 0;
    for (let second = 0; second < 3_600; second += 1) {
      attack(second);
      sum += 100;
      await clock.advance(1_000);
    }
    await gathering.flush();
    const rows = await eventually(
      () => denials(store),
      (all) => all.reduce((count, { detail }) => count + detail.count, 0) === sum,
      20_000,
    );
    assert.ok(writes <= 70, `${writes} writes in an hour`);
    assert.ok(rows.length <= 21 * writes, `${rows.length} rows`);
    const others = rows.filter(({ action }) => action === 'denied.other');
    assert.ok(others.length > 0);

    // After a time without denied requests, the next one is written within a second.
    await clock.advance(120_000);
    const before = writes;
    await clock.advance(600_000);
    assert.equal(writes, before, 'nothing is written while nobody is refused');
    attack(-1);
    await clock.advance(1_000);
    assert.equal(writes, before + 1);
  });

  test('a failed write is retried, and no denied request is lost', async (t) => {
    const store = await openStoreAt(t, await database(t));
    const clock = createTestClock();
    const lines: Json[] = [];
    const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    let isWritable = false;
    const write: Store['write'] = (work) =>
      isWritable ? store.write(work) : Promise.reject(new Problem('storage_unavailable'));
    const gathering = new DeniedRequestLog({ store: { ...store, write }, clock, log });
    const deny = () =>
      gathering.addRequest({
        route: 'GET /v2/events',
        source: '192.0.2.1',
        caller: undefined,
        credentials: { key: 'x', domain: 'y' },
      });
    deny();
    await clock.advance(1_000);
    await eventually(
      () => lines.map(({ event }) => event),
      (events) => events.includes('audit.write_failed'),
    );
    assert.deepEqual(await denials(store), []);
    deny();
    isWritable = true;
    await clock.advance(1_999);
    assert.deepEqual(await denials(store), [], 'the interval grows after a failed write as well');
    await clock.advance(1);
    const rows = await eventually(
      () => denials(store),
      (all) => all.length > 0,
    );
    assert.deepEqual(
      rows.map(({ action, detail }) => [action, detail]),
      [['denied.unknown_key', { count: 2 }]],
    );
  });
}

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { testClock } from '../../../test/kit/clock.ts';
import { openAt } from '../../../test/kit/database/database.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { loadConfig } from '../../config/load.ts';
import type { OptionName } from '../../config/options.ts';
import { createAccount } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { parseDatabase } from '../../store/database-url.ts';
import { type Inspection, inspect } from '../../store/inspect.ts';
import type { Queries } from '../../store/store.ts';
import { checkAll, type Subject } from './doctor-checks.ts';

function configOf(flags: Partial<Record<OptionName, string>>) {
  const loaded = loadConfig({ flags, environment: {} });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}

/** Findings of one check, as `state: message`; everything else is in order. */
async function found(check: string, subject: Partial<Subject>): Promise<string[]> {
  const all = await checkAll({
    config: configOf({}),
    strangers: [],
    database: undefined,
    clock: systemClock,
    resolve: async () => ({ addresses: ['192.0.2.1'] }),
    ...subject,
  });
  return all.filter((one) => one.check === check).map(({ state, says }) => `${state}: ${says}`);
}

/** Number of migrations. */
const newest = readdirSync(new URL('../../store/migrations', import.meta.url)).filter((file) =>
  /^\d{4}_\w+\.sql$/.test(file),
).length;

const nothing = { executeTakeFirst: async () => ({ latest: null }) };
/** Queries of an inspection whose database is never read. */
const sound: Inspection = {
  engine: 'SQLite 3.53.0',
  version: 0,
  newest: 2,
  weak: [],
  problems: [],
  bytes: 1_048_576,
  freeBytes: 10 * 1_024 ** 3,
  place: [],
  clockAheadMs: undefined,
  isServed: false,
  queries: nothing as unknown as Queries,
  close: async () => undefined,
};

test('doctor checks the base address and the allowed targets', async () => {
  const at = (flags: Partial<Record<OptionName, string>>) => found('base address', { config: configOf(flags) });
  assert.deepEqual(await at({}), ['ok: http://127.0.0.1:8080, because --base-url is not set']);
  const wildcard = { host: '0.0.0.0', baseUrl: 'http://localhost:8080' };
  assert.match(
    (await at(wildcard)).join(),
    /^warning: http:\/\/localhost:8080 points every other machine to itself; set/,
  );
  assert.match(
    (await at({ baseUrl: 'http://a.test' })).join(),
    /^warning: http:\/\/a\.test is not https: .*; put a proxy/,
  );
  assert.match((await at({ baseUrl: 'https://a.test' })).join(), /^warning: .* add it to --trust-proxy$/);
  assert.deepEqual(await at({ baseUrl: 'https://a.test', trustProxy: '127.0.0.1' }), ['ok: https://a.test']);

  const open = (allowTargets: string) => found('targets', { config: configOf({ allowTargets }) });
  assert.deepEqual(await open(''), ['ok: private networks are blocked']);
  assert.deepEqual(await open('10.0.0.0/8,intra.test'), [
    'ok: open in addition to public addresses: 10.0.0.0/8, intra.test',
  ]);
  assert.match(
    (await open('10.1.2.3,0.0.0.0/0,::/0')).join(),
    /^warning: --allow-targets opens 0\.0\.0\.0\/0, ::\/0: /,
  );
  const origins = (corsOrigins: string) => found('origins', { config: configOf({ corsOrigins }) });
  assert.deepEqual(await origins('https://app.example'), []);
  assert.match(
    (await origins('null,*')).join('\n'),
    /^warning: --cors-origins holds \*: every web page .*\nwarning: --cors-origins holds null: every web page /,
  );
  assert.deepEqual(await found('configuration', { strangers: ['CARILLON_PROT'] }), [
    'warning: CARILLON_PROT: not an option of Carillon; correct or remove it',
  ]);
});

test('doctor checks the database: existence, integrity, schema, durability, file system and disk space', async () => {
  const at = (check: string, differs: Partial<Inspection>) => found(check, { database: { ...sound, ...differs } });
  assert.match((await found('database', {})).join(), /^warning: none at sqlite:data\/carillon\.db yet; /);
  assert.match(
    (await found('database', { database: 'no route' })).join(),
    /^fault: .* cannot be reached: no route; check/,
  );
  assert.match((await at('database', {})).join(), /^ok: sqlite:data\/carillon\.db, SQLite 3\.53\.0, 1\.0 MiB$/);
  assert.match((await at('database', { place: ['it lies on NFS'] })).join(), /^fault: it lies on NFS; move it/);
  assert.match((await at('schema', { version: 3 })).join(), /^fault: version 3 is from a newer Carillon.*; update/);
  assert.match((await at('schema', {})).join(), /^warning: version 0 of 2; the next start migrates it/);
  assert.match(
    (await at('integrity', { problems: ['row 1 missing'] })).join(),
    /^fault: row 1 missing; stop the service/,
  );
  assert.match((await at('durability', { weak: ['fsync is off'] })).join(), /^fault: fsync is off: .*; turn it on$/);
  const any = { config: configOf({ durability: 'any' }), database: { ...sound, weak: ['fsync is off'] } };
  assert.match((await found('durability', any)).join(), /^warning: fsync is off: .* as --durability any allows$/);
  assert.match((await at('disk', { freeBytes: 1_000_000 })).join(), /^fault: 1\.0 MiB free; free disk space/);
  assert.match(
    (await at('disk', { bytes: 20 * 1_024 ** 3 })).join(),
    /^warning: 10240\.0 MiB free, too little for a backup/,
  );
  assert.deepEqual(await at('disk', {}), ['ok: 10240.0 MiB free']);
  assert.deepEqual(await at('disk', { freeBytes: undefined }), []);
  assert.match(
    (await at('clocks', { clockAheadMs: -5_000 })).join(),
    /^warning: the database is 5000 ms behind this machine/,
  );
  assert.deepEqual(await at('clocks', { clockAheadMs: 12 }), ['ok: this machine and the database: 12 ms apart']);
  assert.match((await at('service', { isServed: true })).join(), /^ok: running on the database/);
});

test('doctor checks the clock: a plausible year and no jumps', async () => {
  const clock = testClock(Date.UTC(1970, 0, 1));
  assert.match((await found('time', { clock })).join(), /^fault: the clock of this machine says 1970; set it/);
  let jump = 0;
  const jumping = {
    ...systemClock,
    now: () => Date.UTC(2027, 0, 1) + jump,
    monotonic: () => 0,
    after(_: number, run: () => void) {
      jump = 60_000;
      run();
      return () => undefined;
    },
  };
  assert.match((await found('time', { clock: jumping })).join(), /^warning: the clock jumped by 60000 ms just now/);
  assert.match((await found('time', {})).join(), /^ok: 2\d{3}-.*, and steady$/);
});

test('doctor checks DNS, and an unreachable network does not crash it', async () => {
  const resolving = (failure: 'no_such_name' | 'resolver_silent') =>
    found('egress', { resolve: async () => ({ failure }) });
  assert.deepEqual(await found('egress', {}), ['ok: names resolve (example.com)']);
  assert.match((await resolving('resolver_silent')).join(), /^warning: no DNS resolver answers: /);
  assert.match((await resolving('no_such_name')).join(), /^warning: example\.com does not resolve: /);
  assert.deepEqual(await found('egress', { resolve: undefined }), ['ok: not checked, because of --offline']);
});

for (const { test, name, database, testService } of stores) {
  const look = async (address: string) => {
    const parsed = parseDatabase(address);
    if ('fault' in parsed) throw new Error(parsed.fault);
    return inspect(parsed.value, systemClock.now);
  };

  test('doctor finds no faults in a sound database, shows whether a service runs on it, and changes nothing', async (t) => {
    const address = await database(t);
    const empty = await look(address);
    assert.equal(name === 'SQLite' ? empty : empty?.version, name === 'SQLite' ? undefined : 0, 'it makes none');
    await empty?.close();

    const carillon = await testService(t, { database: address });
    const owner = await carillon.account('acme.test');
    await owner.carillon.events.create({ event_name: 'Launch', start_date: '20270101', due_date: '20270102' });
    const served = await look(address);
    assert.ok(served !== undefined);
    assert.equal(served.isServed, true);
    assert.deepEqual([served.version, served.newest, served.problems, served.place], [newest, newest, [], []]);
    assert.ok(served.bytes > 100_000);
    const findings = await checkAll({
      config: configOf({}),
      strangers: [],
      database: served,
      clock: systemClock,
      resolve: undefined,
    });
    const wrong = findings.filter(({ state, check }) => state !== 'ok' && check !== 'durability');
    assert.deepEqual(wrong, []);
    await served.close();
    await carillon.stop();
    const after = await look(address);
    assert.equal(after?.isServed, false);
    await after?.close();
  });

  test('C16 doctor finds an occurrence without its record, and one in the future', async (t) => {
    const address = await database(t);
    const store = await openAt(t, address);
    await store.write(async (tx) => {
      await createAccount(tx, { domain: 'acme.test', email: 'owner@acme.test' }, systemClock.now(), systemRandom);
      const occurrence = { account_id: 1, user_id: 1, kind: 'new_event' };
      const rows = [
        { ...occurrence, position: 1, record_id: 7, occurred_at: 0 },
        { ...occurrence, position: 2, record_id: 8, occurred_at: 0 },
        { ...occurrence, position: 3, record_id: 8, occurred_at: 0, kind: 'deleted_event' },
        { ...occurrence, position: 4, record_id: 1, occurred_at: systemClock.now() + 3_600_000, kind: 'new_user' },
      ];
      await tx.queries.insertInto('occurrences').values(rows).execute();
    });
    await store.close();
    const inspection = await look(address);
    assert.ok(inspection !== undefined);
    t.after(() => inspection.close());
    const at = (check: string) => found(check, { database: inspection });
    assert.match((await at('integrity')).join(), /^fault: 1 occurrences have no record: /);
    assert.match((await at('clock')).join(), /^fault: the newest occurrence is 3\d{3} s in the future: /);
  });
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { openOptionsOf } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { StoreOptions } from '../database-url.ts';
import { openStore } from '../open.ts';
import type { Store, Tx } from '../store.ts';

/** A clock that stands still, so that the size of commit groups does not depend on the speed of the machine. */
const frozenClock: Clock = { ...systemClock, monotonic: () => 0 };

/** Opens a store on its own file, and records the fatal errors and group sizes that it reports. */
async function openTestStore(t: TestContext, options: Partial<StoreOptions> = {}) {
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const fatal: unknown[] = [];
  const groups: number[] = [];
  const store = await openStore({
    ...openOptionsOf(`sqlite:${path}`),
    onFatal: (error) => fatal.push(error),
    realClock: frozenClock,
    ...options,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= store.close();
    return closed;
  };
  t.after(close);
  store.onGroupCommit((writes) => groups.push(writes));
  return { store: { ...store, close }, path, fatal, groups };
}

const addAccount = (domain: string) => async (tx: Tx) => {
  const row = await tx.queries
    .insertInto('accounts')
    .values({ domain, company_name: domain, date_created: 0 })
    .returning('account_id')
    .executeTakeFirstOrThrow();
  tx.events.addPendingHooks([row.account_id]);
  return row.account_id;
};

async function domains(store: Store): Promise<string[]> {
  const rows = await store.read.selectFrom('accounts').select('domain').orderBy('account_id').execute();
  return rows.map((row) => row.domain);
}

const isProblem = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

test('concurrent writes are one commit, in their order', async (t) => {
  const { store, groups } = await openTestStore(t);
  const ids = await Promise.all(Array.from({ length: 50 }, (_, index) => store.write(addAccount(`${index}.test`))));
  assert.deepEqual(groups, [50]);
  assert.deepEqual(
    ids,
    Array.from({ length: 50 }, (_, index) => index + 1),
  );
});

test('a commit group has a size limit, and the writes beyond it are in the next one', async (t) => {
  const { store, groups } = await openTestStore(t);
  await Promise.all(Array.from({ length: 600 }, (_, index) => store.write(addAccount(`${index}.test`))));
  assert.deepEqual(groups, [256, 256, 88]);
  assert.equal((await domains(store)).length, 600);
});

test('the event loop runs between two full commit groups, so that responses are sent', async (t) => {
  const { store } = await openTestStore(t);
  let turns = 0;
  const groupsSeenAt: number[] = [];
  store.onGroupCommit(() => groupsSeenAt.push(turns));
  const writes = Promise.all(Array.from({ length: 900 }, (_, index) => store.write(addAccount(`${index}.test`))));
  let through = false;
  const counting = (async () => {
    for (; !through; turns += 1) await turn();
  })();
  await writes;
  through = true;
  await counting;
  assert.equal(groupsSeenAt.length, 4);
  assert.equal(new Set(groupsSeenAt).size, 4, `groups were committed at turns ${groupsSeenAt.join(', ')}`);
});

test('a failed write is rolled back alone: the others of its commit group are committed and published', async (t) => {
  const { store, groups } = await openTestStore(t);
  const announced: number[] = [];
  store.onCommitted((news) => void announced.push(...news.pendingDeliveriesByHook.keys()));
  const outcomes = await Promise.allSettled([
    store.write(addAccount('first.test')),
    store.write(async (tx) => {
      await addAccount('undone.test')(tx);
      throw new Problem('not_found');
    }),
    store.write(addAccount('first.test')),
    store.write(addAccount('last.test')),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.ok(outcomes[1]?.status === 'rejected' && isProblem('not_found')(outcomes[1].reason));
  assert.ok(outcomes[2]?.status === 'rejected' && !(outcomes[2].reason instanceof Problem), 'a fault of ours, not 503');
  assert.deepEqual(groups, [4]);
  assert.deepEqual(await domains(store), ['first.test', 'last.test']);
  assert.equal(announced.length, 2);
});

test('C20 a resolved write is durable: WAL with synchronous=FULL, visible to other connections', async (t) => {
  const { store, path } = await openTestStore(t);
  const settings = await store.write(async ({ queries }) => {
    const { rows: synchronous } = await sql<{ synchronous: number }>`pragma synchronous`.execute(queries);
    const { rows: journal } = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(queries);
    return [synchronous[0]?.synchronous, journal[0]?.journal_mode];
  });
  assert.deepEqual(settings, [2, 'wal']);
  await store.write(addAccount('acme.test'));
  const other = new DatabaseSync(path, { readOnly: true });
  assert.equal(other.prepare('select domain from accounts').get()?.domain, 'acme.test');
  other.close();
});

test('C13 C20 commit events are published after the commit is durable and before its writes resolve', async (t) => {
  const { store, path } = await openTestStore(t);
  const order: string[] = [];
  store.onCommitted((news) => {
    const other = new DatabaseSync(path, { readOnly: true });
    const { count } = other.prepare('select count(*) as count from accounts').get() ?? {};
    other.close();
    order.push(`news of ${news.pendingDeliveriesByHook.size} with ${count} durable`);
  });
  await store.write(addAccount('acme.test')).then(() => order.push('answered'));
  assert.deepEqual(order, ['news of 1 with 1 durable', 'answered']);
});

test('a write sees earlier writes of its commit group; reads outside see them after the commit', async (t) => {
  const { store } = await openTestStore(t);
  const seen: number[] = [];
  const count = async (queries: Tx['queries']) => (await queries.selectFrom('accounts').selectAll().execute()).length;
  await Promise.all([
    store.write(addAccount('acme.test')),
    store.write(async ({ queries }) => {
      seen.push(await count(queries), await count(store.read));
    }),
  ]);
  seen.push(await count(store.read));
  assert.deepEqual(seen, [1, 0, 1]);
});

test('on a full disk writes are rejected with storage_unavailable and reads work; with free space writes work again', async (t) => {
  const { store, path, fatal } = await openTestStore(t, { maxPages: 90 });
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec('create table ballast (bytes blob); insert into ballast values (zeroblob(40000))');

  const accepted: string[] = [];
  const refused: unknown[] = [];
  // First four writes are one group, which is rejected as a whole. Then single writes use up the space that is left.
  for (let [round, members] = [0, 4]; members > 0; round += 1) {
    assert.ok(round < 1_000, 'the disk never fills');
    const names = Array.from({ length: members }, (_, index) => `${round}-${index}-${'x'.repeat(900)}.test`);
    const outcomes = await Promise.allSettled(names.map((name) => store.write(addAccount(name))));
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') accepted.push(names[index] ?? '');
      else refused.push(outcome.reason);
    }
    if (outcomes.some(({ status }) => status === 'rejected')) {
      assert.ok(
        outcomes.every(({ status }) => status === 'rejected'),
        'a group has one fate',
      );
      members = members === 4 ? 1 : 0;
    }
  }
  assert.ok(refused.every(isProblem('storage_unavailable')), String(refused[0]));
  await assert.rejects(store.write(addAccount(`again-${'x'.repeat(900)}.test`)), isProblem('storage_unavailable'));
  assert.deepEqual(await domains(store), accepted, 'reads are served, and exactly what was acknowledged is there');

  other.exec('delete from ballast');
  await store.write(addAccount('room.test'));
  assert.deepEqual(await domains(store), [...accepted, 'room.test']);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  assert.deepEqual(fatal, [], 'a full disk is no reason to end the process');
});

/** Creates a clock that advances at each reading, so that the event loop runs after every few statements. */
function steppingClock(): Clock {
  let time = 0;
  const monotonic = () => {
    time += 4;
    return time;
  };
  return { ...systemClock, monotonic };
}

test('the event loop runs between the statements of a long write, which keep their order and commit together', async (t) => {
  const { store, fatal, groups } = await openTestStore(t, { realClock: steppingClock() });
  const names = Array.from({ length: 100 }, (_, index) => `${index}.test`);
  const [seen, order]: [Set<number>, string[]] = [new Set(), []];
  let turns = 0;
  let isWritten = false;
  const counting = (async () => {
    for (; !isWritten; turns += 1) {
      seen.add((await domains(store)).length);
      await turn();
    }
  })();
  const long = store.write(async (tx) => {
    const before = turns;
    await Promise.all(names.slice(0, 50).map((name) => addAccount(name)(tx)));
    for (const name of names.slice(50)) await addAccount(name)(tx);
    order.push('long');
    return turns - before;
  });
  const next = store.write(async (tx) => {
    order.push('next');
    return addAccount('next.test')(tx);
  });
  const took = await long;
  await next;
  isWritten = true;
  await counting;
  assert.ok(took >= 15, `${took} iterations for 100 statements`);
  assert.deepEqual(
    [...seen].filter((count) => count > 0 && count < 100),
    [],
    'no reader sees a part',
  );
  assert.deepEqual(await domains(store), [...names, 'next.test']);
  assert.deepEqual([order, groups, fatal], [['long', 'next'], [1, 1], []]);
});

test('accounts take turns, in each its users, and a group that has taken long begins no further write', async (t) => {
  const { store, groups } = await openTestStore(t, { realClock: steppingClock() });
  const order: string[] = [];
  const write = (name: string, accountId?: number, userId = 1) =>
    store.write(
      async (tx) => {
        order.push(name);
        // These statements take longer than a group may take.
        if (name.startsWith('long'))
          for (let made = 0; made < 20; made += 1) await addAccount(`${name}-${made}.test`)(tx);
      },
      accountId === undefined ? undefined : { accountId, userId, lockMode: 'exclusive' },
    );
  await Promise.all([
    ...['long 1', 'long 2', 'long 3'].map((name) => write(name, 1)),
    ...['a', 'b'].map((name) => write(name, 2)),
    write('of the service'),
    write('of another user', 1, 3),
  ]);
  assert.deepEqual(order, ['long 1', 'a', 'of the service', 'of another user', 'b', 'long 2', 'long 3']);
  assert.deepEqual(groups, [1, 5, 1]);
});

test('statements that wait when another of their write fails are rolled back with it', async (t) => {
  const { store, fatal, groups } = await openTestStore(t, { realClock: steppingClock() });
  await store.write(addAccount('first.test'));
  const outcomes = await Promise.allSettled([
    store.write(async (tx) => {
      const names = Array.from({ length: 50 }, (_, index) => `undone-${index}.test`);
      await Promise.all(['first.test', ...names].map((name) => addAccount(name)(tx)));
    }),
    store.write(addAccount('last.test')),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
  assert.deepEqual(groups, [1, 1, 1]);
  assert.deepEqual(await domains(store), ['first.test', 'last.test']);
  assert.deepEqual(fatal, []);
});

test('statements pipelined with a failed one are not committed, with or without a transaction', async (t) => {
  for (const [isGone, beats] of [
    [true, frozenClock],
    [false, frozenClock],
    [true, steppingClock()],
    [false, steppingClock()],
  ] as const) {
    const { store, fatal } = await openTestStore(t, { realClock: beats });
    const late: Promise<unknown>[] = [];
    const outcomes = await Promise.allSettled([
      store.write(addAccount('first.test')),
      store.write(async (tx) => {
        if (isGone) await sql`rollback`.execute(tx.queries);
        // Both writes continue while the group is rolled back.
        late.push(
          addAccount('second.test')(tx),
          Promise.resolve().then(() => addAccount('third.test')(tx)),
        );
        throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
      }),
      store.write(addAccount('fourth.test')),
    ]);
    await Promise.allSettled(late);
    assert.deepEqual(
      outcomes.map((one) => one.status === 'rejected' && isProblem('storage_unavailable')(one.reason)),
      [true, true, true],
    );
    assert.deepEqual(await domains(store), []);
    await store.write(addAccount('again.test'));
    assert.deepEqual(await domains(store), ['again.test']);
    assert.deepEqual(fatal, []);
  }
});

test('if SQLite ends the transaction, all writes of the group are rejected and nothing is committed', async (t) => {
  const { store, fatal } = await openTestStore(t);
  const outcomes = await Promise.allSettled([
    store.write(addAccount('first.test')),
    store.write(async (tx) => {
      await addAccount('second.test')(tx);
      // End the transaction, as SQLite may do when the disk is full.
      await sql`rollback`.execute(tx.queries);
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    }),
    store.write(addAccount('third.test')),
  ]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && isProblem('storage_unavailable')(outcome.reason));
  }
  assert.deepEqual(await domains(store), []);
  await store.write(addAccount('next.test'));
  assert.deepEqual(await domains(store), ['next.test']);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  assert.deepEqual(fatal, [], 'a full disk is no reason to end the process');
});

test('waiting for a database that another connection has locked does not block the event loop', async (t) => {
  const { store, path, fatal } = await openTestStore(t);
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  let isWritten = false;
  const written = store.write(addAccount('acme.test')).then(() => {
    isWritten = true;
  });
  assert.deepEqual(await domains(store), [], 'reads go on');
  // Timers fire while the write waits: a wait inside SQLite would block each of them for ten seconds.
  for (let turns = 0; turns < 10; turns += 1) await wait(5);
  assert.equal(isWritten, false);
  other.exec('commit');
  other.close();
  await written;
  assert.deepEqual(await domains(store), ['acme.test']);
  assert.deepEqual(fatal, []);
});

test('a write that awaits anything but its queries is reported, since it would block all writes', async (t) => {
  const { store, fatal } = await openTestStore(t);
  await store.write(async () => wait(20));
  assert.equal(fatal.length, 1);
  assert.match(String(fatal[0]), /awaited something other than its queries/);
});

test('a corrupt file is fatal: no write resolves', async (t) => {
  const { store, path, fatal } = await openTestStore(t);
  await store.write(addAccount('acme.test'));
  // The root page of a table points beyond the end of the file.
  const other = new DatabaseSync(path, { defensive: false });
  other.exec(`
    pragma writable_schema = on;
    update sqlite_schema set rootpage = 99999 where name = 'accounts';
    pragma schema_version = 1000;
  `);
  other.close();
  let answered = false;
  const answer = () => {
    answered = true;
  };
  store.write(addAccount('lost.test')).then(answer, answer);
  await eventually(
    () => fatal.length,
    (count) => count > 0,
  );
  await turn();
  assert.equal(answered, false);
});

test('writes beyond the waiting limit are rejected immediately with overloaded, and those that wait are committed', async (t) => {
  const { store } = await openTestStore(t);
  const waiting = Array.from({ length: 4_096 }, () => store.write(async () => 'done'));
  await assert.rejects(
    store.write(async () => 'shed'),
    isProblem('overloaded'),
  );
  assert.equal(new Set(await Promise.all(waiting)).size, 1);
  assert.equal(await store.write(async () => 'later'), 'later');
});

test('close waits for running writes and rejects new ones', async (t) => {
  const { store, path } = await openTestStore(t);
  const written = store.write(addAccount('acme.test'));
  const closed = store.close();
  await assert.rejects(store.write(addAccount('late.test')), isProblem('storage_unavailable'));
  await Promise.all([written, closed]);
  const other = new DatabaseSync(path, { readOnly: true });
  assert.deepEqual(
    other
      .prepare('select domain from accounts')
      .all()
      .map((row) => row.domain),
    ['acme.test'],
  );
  other.close();
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { sharedStores } from '../../../test/kit/service/stores.ts';
import { notFound } from '../../problems.ts';
import type { CommitEvents, Store, Tx } from '../store.ts';
import { decideRetry, type FailureCause, type Retry } from './write-retries.ts';

for (const { test, database } of sharedStores) {
  /** Opens a store. Records its commit events and the sizes of its commits. */
  async function open(t: TestContext) {
    const address = await database(t);
    const store = await openStoreAt(t, address);
    const commits: number[] = [];
    const news: CommitEvents[] = [];
    store.onGroupCommit((writes) => void commits.push(writes));
    store.onCommitted((one) => void news.push(one));
    return { address, store, commits, news };
  }

  /** Runs writes concurrently, each for an account of its own. */
  const runTogether = <T>(store: Store, works: readonly ((tx: Tx, accountId: number) => Promise<T>)[]) =>
    Promise.allSettled(
      works.map((work, index) => {
        const accountId = index + 1;
        const write = (tx: Tx) => {
          tx.lockAccount(accountId, 'shared');
          return work(tx, accountId);
        };
        return store.write(write, { accountId, userId: 1, lockMode: 'shared' });
      }),
    );

  const add = (domain: string) => async (tx: Tx, accountId: number) => {
    await tx.queries.insertInto('accounts').values({ domain, company_name: '', date_created: 0 }).execute();
    tx.events.addAccountsWithOccurrences([accountId]);
    return domain;
  };

  const domains = async ({ read }: Store) => {
    const rows = await read.selectFrom('accounts').select('domain').orderBy('domain').execute();
    return rows.map(({ domain }) => domain);
  };

  const statuses = (ended: readonly PromiseSettledResult<unknown>[]) => ended.map(({ status }) => status);
  const FULFILLED = 'fulfilled';
  const REJECTED = 'rejected';

  test('concurrent writes are one commit with one commit event', async (t) => {
    const { store, commits, news } = await open(t);
    const ended = await runTogether(
      store,
      Array.from({ length: 20 }, (_, index) => add(`${index}.test`)),
    );
    assert.deepEqual(statuses(ended), Array(20).fill(FULFILLED));
    assert.deepEqual(commits, [20]);
    assert.deepEqual(
      news.map(({ accountsWithOccurrences }) => [...accountsWithOccurrences]),
      [Array.from({ length: 20 }, (_, index) => index + 1)],
    );
    assert.equal((await domains(store)).length, 20);
  });

  test('writes of consecutive event-loop iterations are one commit, up to the group size', async (t) => {
    const { store, commits } = await open(t);
    const writing: Promise<unknown>[] = [];
    for (let turn = 1; turn <= 70; turn += 1) {
      const accountId = turn;
      writing.push(
        store.write((tx) => add(`${turn}.test`)(tx, accountId), { accountId, userId: 1, lockMode: 'shared' }),
      );
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    await Promise.all(writing);
    // The two commits use different connections, so either may be first.
    assert.deepEqual(
      commits.toSorted((a, b) => b - a),
      [64, 6],
    );
  });

  test('C20 if the connection is lost before account locks are acquired, the writes are retried one by one, and the process continues', async (t) => {
    const { store } = await open(t);
    // Simulates a connection that is lost between the first query of a transaction and the queries of its writes.
    await sql`alter function pg_try_advisory_xact_lock_shared(int4, int4) rename to lost`.execute(store.read);
    const unacknowledged: unknown[] = [];
    const hear = (error: unknown) => void unacknowledged.push(error);
    process.prependListener('unhandledRejection', hear);
    t.after(() => process.off('unhandledRejection', hear));
    const slow = async (tx: Tx, accountId: number) => {
      await wait(50);
      return add(`${accountId}.test`)(tx, accountId);
    };
    const ended = await runTogether(store, [slow, slow, slow]);
    assert.deepEqual(statuses(ended), [FULFILLED, FULFILLED, FULFILLED]);
    assert.equal((await domains(store)).length, 3);
    assert.deepEqual(unacknowledged, [], 'nothing fails that nobody hears of');
  });

  test('beforeCommit runs once per commit, with the items of all successful writes in their order', async (t) => {
    const { store } = await open(t);
    const done: number[][] = [];
    const note = async (_: Tx, items: readonly number[]) => void done.push([...items]);
    const leave = async (tx: Tx, accountId: number) => {
      tx.beforeCommit(note, accountId);
      if (accountId === 2) throw notFound();
    };
    await runTogether(store, [leave, leave, leave]);
    assert.deepEqual(done, [[1, 3]]);
  });

  test('a write that fails before it has changed anything is rejected, and the others are committed', async (t) => {
    const { store, commits } = await open(t);
    let runs = 0;
    const counted = (tx: Tx, accountId: number) => {
      runs += 1;
      return add(`${accountId}.test`)(tx, accountId);
    };
    const failing = async ({ queries }: Tx) => {
      await queries.selectFrom('accounts').select('domain').execute();
      throw notFound();
    };
    const ended = await runTogether<unknown>(store, [counted, failing, counted]);
    assert.deepEqual(statuses(ended), [FULFILLED, REJECTED, FULFILLED]);
    assert.deepEqual(commits, [3]);
    assert.equal(runs, 2);
  });

  test('C16 a write that fails after a change is rolled back: the others are committed without it, and it has no commit event', async (t) => {
    const { store, news } = await open(t);
    const failing = async (tx: Tx, accountId: number) => {
      await add('undone.test')(tx, accountId);
      throw notFound();
    };
    const unwanted = async (tx: Tx, accountId: number) => {
      await add('unwanted.test')(tx, accountId);
      tx.commitIf(Promise.reject(notFound()));
    };
    const ended = await runTogether<unknown>(store, [add('a.test'), failing, add('b.test'), unwanted, add('c.test')]);
    assert.deepEqual(statuses(ended), [FULFILLED, REJECTED, FULFILLED, REJECTED, FULFILLED]);
    assert.deepEqual(await domains(store), ['a.test', 'b.test', 'c.test']);
    assert.deepEqual(news.flatMap(({ accountsWithOccurrences }) => [...accountsWithOccurrences]).sort(), [1, 3, 5]);
  });

  test('a database error of one write rejects only that write', async (t) => {
    const { store } = await open(t);
    const ended = await runTogether(store, [add('a.test'), add('same.test'), add('same.test'), add('b.test')]);
    assert.deepEqual(statuses(ended).sort(), [FULFILLED, FULFILLED, FULFILLED, REJECTED]);
    assert.deepEqual(await domains(store), ['a.test', 'b.test', 'same.test']);
  });

  test('an exclusively locked account delays only its own writes', async (t) => {
    const { store } = await open(t);
    const begun = Promise.withResolvers<void>();
    const through = Promise.withResolvers<void>();
    const alone = store.write(async (tx) => {
      tx.lockAccount(2, 'exclusive');
      await tx.queries.selectFrom('accounts').select('domain').execute();
      begun.resolve();
      await through.promise;
    });
    await begun.promise;
    const waiting = runTogether(store, [add('a.test'), add('kept-out.test'), add('b.test')]);
    while ((await domains(store)).length < 2);
    assert.deepEqual(await domains(store), ['a.test', 'b.test']);
    through.resolve();
    await alone;
    assert.deepEqual(statuses(await waiting), [FULFILLED, FULFILLED, FULFILLED]);
    assert.deepEqual(await domains(store), ['a.test', 'b.test', 'kept-out.test']);
  });

  test('in a commit group a named lock is granted once', async (t) => {
    const { store } = await open(t);
    const ended = await runTogether(
      store,
      Array(3).fill((tx: Tx) => tx.tryLock('one')),
    );
    assert.deepEqual(
      ended.map((one) => one.status === FULFILLED && one.value),
      [true, false, false],
    );
  });

  test('a write that waits for an exclusively locked account does not delay other accounts', async (t) => {
    const { store } = await open(t);
    const [begun, through] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const long = store.write(async (tx) => {
      tx.lockAccount(1, 'exclusive');
      await tx.queries.selectFrom('accounts').select('account_id').execute();
      begun.resolve();
      await through.promise;
    });
    await begun.promise;
    const writeShared = (accountId: number, domain: string) => {
      const work = (tx: Tx) => {
        tx.lockAccount(accountId, 'shared');
        return add(domain)(tx, accountId);
      };
      return store.write(work, { accountId, userId: 1, lockMode: 'shared' });
    };
    const blocked = async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        store.read,
      );
      return rows[0]?.count ?? 0;
    };
    const waiting: Promise<string>[] = [];
    // The writes start one after the other, so that each has its own group.
    for (let number = 1; number <= 4; number += 1) {
      waiting.push(writeShared(1, `waits-${number}.test`));
      await eventually(blocked, (count) => count === number);
    }
    assert.equal(await writeShared(2, 'other.test'), 'other.test');
    assert.deepEqual(await domains(store), ['other.test']);
    through.resolve();
    await Promise.all([long, ...waiting]);
    assert.equal((await domains(store)).length, 5);
  });
}

test('a write is retried alone, in a group or not at all, by the cause of the failure', () => {
  const sqlError = (code: string) => Object.assign(new Error(code), { code, severity: 'ERROR' });
  const [deadlock, checkViolation, connectionLost] = [sqlError('40P01'), sqlError('23514'), sqlError('08006')];
  const rows: readonly [FailureCause, unknown, alone: Retry | undefined, inGroup: Retry | undefined][] = [
    ['own_error', deadlock, undefined, undefined],
    ['own_query', deadlock, 'alone', 'alone'],
    ['own_query', connectionLost, 'alone', 'alone'],
    ['own_query', checkViolation, undefined, 'alone'],
    ['missing_lock', undefined, 'alone', 'alone'],
    ['other_member', deadlock, 'in_group', 'in_group'],
    ['commit', deadlock, 'alone', 'alone'],
    ['commit', connectionLost, undefined, undefined],
    ['commit', checkViolation, undefined, undefined],
  ];
  for (const [cause, error, alone, inGroup] of rows)
    assert.deepEqual([decideRetry(cause, error, true), decideRetry(cause, error, false)], [alone, inGroup], cause);
});

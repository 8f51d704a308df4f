import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { sql } from 'kysely';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { sharedStores, sqlite, stores } from '../../../test/kit/service/stores.ts';
import { createLog } from '../../log.ts';
import { systemRandom } from '../../secrets.ts';
import type { Store } from '../../store/store.ts';
import { createAccount } from '../accounts/actions.ts';
import { createKeyAuthenticator, type KeyAuthenticator } from '../keys/authenticate.ts';
import { type CachedCaller, CallerCache } from './caller-cache.ts';
import { LastUsedTracker } from './last-used.ts';

const { test, database } = sqlite;

const cachedCaller = (keyId: number) => ({ caller: { keyId }, lastUsedAt: 0 }) as CachedCaller;

/** Creates a lookup function. The test counts its calls and resolves its results through `answers`. */
function controlledLookup() {
  const answers: PromiseWithResolvers<CachedCaller | undefined>[] = [];
  const ask = () => {
    const answer = Promise.withResolvers<CachedCaller | undefined>();
    answers.push(answer);
    return answer.promise;
  };
  return { answers, ask };
}

test('concurrent lookups of the same credentials share one query, and later ones need none', async (t) => {
  const known = new CallerCache(await openStoreAt(t, await database(t)));
  const { answers, ask } = controlledLookup();
  const all = [
    known.findOrLoadEntry('shown', ask),
    known.findOrLoadEntry('shown', ask),
    known.findOrLoadEntry('other', ask),
  ];
  assert.equal(answers.length, 2);
  const [one, two] = [cachedCaller(1), cachedCaller(2)];
  answers[0]?.resolve(one);
  answers[1]?.resolve(two);
  assert.deepEqual(await Promise.all(all), [one, one, two]);
  assert.equal(known.findOrLoadEntry('shown', ask), one);
  assert.equal(answers.length, 2);
});

test('unknown callers and failed lookups are queried again', async (t) => {
  const known = new CallerCache(await openStoreAt(t, await database(t)));
  const { answers, ask } = controlledLookup();
  const nobody = known.findOrLoadEntry('shown', ask);
  answers[0]?.resolve(undefined);
  assert.equal(await nobody, undefined);
  const broken = [known.findOrLoadEntry('shown', ask), known.findOrLoadEntry('shown', ask)];
  answers[1]?.reject(new Error('the database'));
  for (const one of broken) await assert.rejects(one as Promise<unknown>, /the database/);
  void known.findOrLoadEntry('shown', ask);
  assert.equal(answers.length, 3);
});

test('C1 a lookup after an access change queries again, even if an earlier one is in flight', async (t) => {
  const store = await openStoreAt(t, await database(t));
  const known = new CallerCache(store);
  const { answers, ask } = controlledLookup();
  const before = known.findOrLoadEntry('shown', ask);
  await store.write(async (tx) => tx.events.addAccessChange());
  const after = known.findOrLoadEntry('shown', ask);
  assert.equal(answers.length, 2);
  const [old, fresh] = [cachedCaller(1), cachedCaller(2)];
  answers[0]?.resolve(old);
  assert.equal(await before, old);
  // A lookup after the change does not use the result of the earlier lookup.
  assert.equal(known.findOrLoadEntry('shown', ask), after);
  answers[1]?.resolve(fresh);
  assert.equal(await after, fresh);
  assert.equal(known.findOrLoadEntry('shown', ask), fresh);
});

const KEYS = 40;

/** Creates keys in one database, and an authenticator for each of several nodes. */
async function keysAndNodes(t: TestContext, address: string, nodeCount: number) {
  const clock = createTestClock();
  const opened: Store[] = [];
  while (opened.length < nodeCount) opened.push(await openStoreAt(t, address));
  const [store] = opened as [Store, ...Store[]];
  const keys: { key: string; domain: string }[] = [];
  for (let number = 1; number <= KEYS; number += 1) {
    const account = { domain: `${number}.test`, email: 'owner@acme.test' };
    keys.push(await store.write((tx) => createAccount(tx, account, clock.now(), systemRandom)));
  }
  const nodes = opened.map((store) => createKeyAuthenticator({ store, clock, log: createLog('silent') }));
  return { clock, keys, store, nodes: nodes as [KeyAuthenticator, ...KeyAuthenticator[]] };
}

const lastUsed = async ({ read }: Store) => {
  const rows = await read.selectFrom('api_keys').select('last_used').orderBy('key_id').execute();
  return rows.map(({ last_used }) => last_used);
};

for (const { test, database } of stores) {
  test('uses within a second are one write, and a key is written at most once a minute', async (t) => {
    const { clock, keys, store, nodes } = await keysAndNodes(t, await database(t), 1);
    const commits: number[] = [];
    store.onGroupCommit((writes) => void commits.push(writes));
    const began = clock.now();
    const use = async () => {
      for (const { key, domain } of [...keys, ...keys]) assert.ok(await nodes[0].authenticate(key, domain));
    };
    await use();
    await clock.advance(1_000);
    await eventually(
      () => lastUsed(store),
      (all) => all.every((at) => at === began),
    );
    assert.deepEqual(commits, [1]);
    await clock.advance(58_000);
    await use();
    assert.deepEqual(clock.remainingDelaysMs, []);
    await clock.advance(1_000);
    await use();
    await clock.advance(1_000);
    await eventually(
      () => lastUsed(store),
      (all) => all.every((at) => at === began + 60_000),
    );
    assert.deepEqual(commits, [1, 1]);
  });
}

for (const { test, database } of sharedStores) {
  test('nodes that write the same uses in any order do not block each other', async (t) => {
    const { clock, keys, store, nodes } = await keysAndNodes(t, await database(t), 2);
    for (const [index, node] of nodes.entries()) {
      const inOrder = index === 0 ? keys : keys.toReversed();
      for (const { key, domain } of inOrder) assert.ok(await node.authenticate(key, domain));
    }
    await Promise.all(nodes.map((node) => node.flush()));
    assert.deepEqual(await lastUsed(store), Array(KEYS).fill(clock.now()));
    const { rows } = await sql<{ deadlocks: number }>`select deadlocks from pg_stat_database
      where datname = current_database()`.execute(store.read);
    assert.deepEqual(rows, [{ deadlocks: 0 }]);
  });

  test('a row locked by another transaction is skipped without delaying the others', async (t) => {
    const address = await database(t);
    const { clock, keys, store, nodes } = await keysAndNodes(t, address, 1);
    const other = await openStoreAt(t, address);
    for (const { key, domain } of keys) assert.ok(await nodes[0].authenticate(key, domain));
    const { promise: through, resolve: end } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    const writing = other.write(async ({ queries }) => {
      await queries.updateTable('api_keys').set({ last_used: 1 }).where('key_id', '=', 1).execute();
      hold();
      await through;
    });
    await held;
    await nodes[0].flush();
    assert.deepEqual(await lastUsed(store), [null, ...Array(KEYS - 1).fill(clock.now())]);
    end();
    await writing;
  });

  test('only one write runs at a time, and later uses are written after it', async (t) => {
    const clock = createTestClock();
    const writes: { ids: readonly number[]; at: number; end: () => void }[] = [];
    const write = (_: unknown, ids: readonly number[], at: number) =>
      new Promise<void>((end) => writes.push({ ids, at, end }));
    const store = await openStoreAt(t, await database(t));
    const uses = new LastUsedTracker({
      store,
      clock,
      writeLastUsed: write,
      onWriteFailed: (error) => assert.fail(String(error)),
    });
    const visitor = () => ({ lastUsedAt: 0 }) as CachedCaller;
    const began = clock.now();
    uses.recordUse(visitor(), 1);
    await clock.advance(500);
    uses.recordUse(visitor(), 2);
    await clock.advance(500);
    uses.recordUse(visitor(), 3);
    while (writes.length < 1) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(5_000);
    // If two writes could run at a time, the second would have begun by now.
    for (let times = 0; times < 3; times += 1) await store.probe();
    const told = () => writes.map(({ ids, at }) => ({ ids, after: at - began }));
    assert.deepEqual(told(), [{ ids: [1, 2], after: 0 }]);
    const flushing = uses.flush();
    writes[0]?.end();
    while (writes.length < 2) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(told()[1], { ids: [3], after: 1_000 });
    writes[1]?.end();
    await flushing;
    assert.deepEqual(clock.remainingDelaysMs, []);
  });
}

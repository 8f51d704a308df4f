import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { sql } from 'kysely';
import { type NewOccurrence, recordOccurrences } from '../../../src/delivery/outbox/record-occurrences.ts';
import { createAccount } from '../../../src/resources/accounts/actions.ts';
import { clients } from '../../../src/resources/clients/clients.ts';
import { systemRandom } from '../../../src/secrets.ts';
import { AccountWrite } from '../../../src/store/account-scope.ts';
import type { Store, Tx } from '../../../src/store/store.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { insertHook } from '../../kit/service/full-accounts.ts';
import { everyStore } from '../../kit/service/stores.ts';

/** Statements that make inserts of pending deliveries fail, by database. */
const REJECT_PENDING = {
  SQLite: "create trigger refuses before insert on pending_deliveries begin select raise(abort, 'full'); end",
  PostgreSQL: 'alter table pending_deliveries add constraint refuses check (account_id < 0) not valid',
} as const;

const caller = {
  accountId: 1,
  userId: 1,
  role: 'owner',
  keyId: 1,
  sessionId: 0,
  permissions: new Set<never>(),
  expiresAt: null,
} as const;
const input = { client_name: 'ACME', user_id: 0, active: 1 } as Parameters<typeof clients.create>[2];
const fields = ['email', 'tel', 'fax', 'mobile', 'website', 'address', 'city', 'state', 'postcode', 'country'];
const emptyFields = Object.fromEntries([...fields, 'notes', 'background'].map((name) => [name, '']));
const completeInput = { ...emptyFields, ...input };

const countClients = async ({ read }: Store) => (await read.selectFrom('clients').selectAll().execute()).length;

for (const { name, test, database } of everyStore) {
  const NOW = Date.UTC(2025, 4, 1, 12);

  /** Opens a store with an account whose owner (user 1) has a hook for new clients and a hook for new events. */
  async function openWithHooks(t: TestContext) {
    const store = await openStoreAt(t, await database(t));
    t.after(() => store.close());
    await store.write(async (tx) => {
      await createAccount(tx, { domain: 'acme.test', email: 'owner@acme.test' }, NOW, systemRandom);
      for (const [hook_id, kind] of [
        [1, 'new_client'],
        [2, 'new_event'],
      ] as const) {
        const hook = {
          hook_id,
          account_id: 1,
          user_id: 1,
          events: kind,
          target: `http://127.0.0.1:9/${kind}`,
          date_created: NOW,
        };
        await insertHook(tx.queries, hook);
      }
    });
    const published: number[][] = [];
    store.onCommitted((events) => void published.push([...events.pendingDeliveriesByHook.keys()]));
    const inAccount = (work: (write: AccountWrite) => Promise<unknown>) =>
      store.write((tx: Tx) => work(new AccountWrite(tx, 1, NOW)));
    const stored = async () => ({
      position: (await store.read.selectFrom('positions').select('position').executeTakeFirstOrThrow()).position,
      occurrences: await store.read
        .selectFrom('occurrences')
        .select(['position', 'kind', 'record_id'])
        .orderBy('position')
        .execute(),
      pending: await store.read
        .selectFrom('pending_deliveries')
        .select(['hook_id', 'position', 'kind', 'record_id'])
        .orderBy('position')
        .execute(),
    });
    return { store, inAccount, published, stored };
  }

  const occurrence = (kind: NewOccurrence['kind'], recordId: number, userId = 1): NewOccurrence => ({
    kind,
    recordId,
    userId,
  });

  test('C14 C16 a recorded occurrence gets the next position and is pending for the live hooks of its user and kind', async (t) => {
    const { inAccount, published, stored } = await openWithHooks(t);
    await inAccount(async (write) =>
      recordOccurrences(write, [
        occurrence('new_client', 7),
        occurrence('new_client', 8),
        occurrence('changed_client', 7),
      ]),
    );
    await inAccount(async (write) =>
      recordOccurrences(write, [occurrence('new_event', 3), occurrence('new_event', 4, 99), occurrence('new_task', 5)]),
    );
    const { position, occurrences, pending } = await stored();
    assert.equal(position, 6);
    assert.deepEqual(
      occurrences.map((one) => [one.position, one.kind, one.record_id]),
      [
        [1, 'new_client', 7],
        [2, 'new_client', 8],
        [3, 'changed_client', 7],
        [4, 'new_event', 3],
        [5, 'new_event', 4],
        [6, 'new_task', 5],
      ],
    );
    assert.deepEqual(
      pending.map((one) => [one.hook_id, one.position, one.kind, one.record_id]),
      [
        [1, 1, 'new_client', 7],
        [1, 2, 'new_client', 8],
        [2, 4, 'new_event', 3],
      ],
    );
    assert.deepEqual(published, [[1], [2]]);
  });

  test('C16 a rollback leaves no occurrence, no pending delivery, no commit event and no gap in the positions', async (t) => {
    const { inAccount, published, stored } = await openWithHooks(t);
    const outcomes = await Promise.allSettled([
      inAccount(async (write) => recordOccurrences(write, [occurrence('new_client', 1)])),
      inAccount(async (write) => {
        recordOccurrences(write, [occurrence('new_client', 2), occurrence('new_event', 2)]);
        throw new Error('something after it failed');
      }),
      inAccount(async (write) => recordOccurrences(write, [occurrence('new_client', 3)])),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const { position, occurrences, pending } = await stored();
    assert.equal(position, 2);
    // The assertion allows both orders, because the order of two concurrent commits is undefined.
    const rows = occurrences.map((one) => [one.position, one.record_id]);
    assert.deepEqual(
      rows.map(([first]) => first),
      [1, 2],
    );
    assert.deepEqual(rows.map(([, recordId]) => recordId).sort(), [1, 3]);
    assert.deepEqual(
      pending.map((one) => [one.position, one.record_id]),
      rows,
    );
    // The writes may share one commit, which publishes its events once.
    assert.deepEqual([...new Set(published.flat())], [1]);
  });

  test('C16 C20 a record and its pending deliveries are written in one transaction: both or neither', async (t) => {
    const { store, inAccount, stored } = await openWithHooks(t);
    await assert.rejects(
      inAccount(async (write) => {
        await clients.create(write, caller, completeInput);
        throw new Error('the disk is gone');
      }),
      /the disk is gone/,
    );
    assert.deepEqual([await countClients(store), (await stored()).pending.length], [0, 0]);
    await inAccount((write) => clients.create(write, caller, completeInput));
    assert.deepEqual([await countClients(store), (await stored()).pending.length], [1, 1]);
  });

  test('C16 C20 when pending deliveries cannot be written, nothing else is written, and the call fails', async (t) => {
    const { store, inAccount, stored } = await openWithHooks(t);
    await store.write(({ queries }) => sql.raw(REJECT_PENDING[name]).execute(queries));
    const before = await stored();
    await assert.rejects(inAccount((write) => clients.create(write, caller, completeInput)));
    assert.deepEqual([await countClients(store), await stored()], [0, before]);
  });
}

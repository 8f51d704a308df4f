import assert from 'node:assert/strict';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { everyStore } from '../../test/kit/service/stores.ts';
import { prepareQueryForItems } from './prepared-queries.ts';

type OneAccount = { readonly accountId: number; readonly domain: string };

const insertAccounts = prepareQueryForItems(
  (queries, accounts: readonly OneAccount[], { now }: { readonly now: number }) =>
    queries.insertInto('accounts').values(
      accounts.map(({ accountId, domain }) => ({
        account_id: accountId,
        domain,
        company_name: '',
        date_created: now,
      })),
    ),
);

const findAccounts = prepareQueryForItems((queries, accounts: readonly Pick<OneAccount, 'accountId'>[]) =>
  queries
    .selectFrom('accounts')
    .select(['account_id', 'domain', 'date_created'])
    .where(
      'account_id',
      'in',
      accounts.map(({ accountId }) => accountId),
    )
    .orderBy('account_id'),
);

for (const { test, database } of everyStore) {
  test('a prepared query over a list takes any length and returns rows in the order of the list', async (t) => {
    const store = await openStoreAt(t, await database(t));
    let next = 1;
    for (const length of [0, 1, 2, 3, 7, 127, 128, 129, 300]) {
      const accounts = Array.from({ length }, (_, index) => ({
        accountId: next + index,
        domain: `${next + index}.test`,
      }));
      next += length;
      await store.write(({ queries }) => insertAccounts(queries, accounts, { now: length }));
      const wanted = accounts.map(({ accountId, domain }) => ({
        account_id: accountId,
        domain,
        date_created: length,
      }));
      assert.deepEqual(await findAccounts(store.read, accounts, {}), wanted);
    }
  });
}

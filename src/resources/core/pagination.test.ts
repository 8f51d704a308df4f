import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { QueryInterceptor } from '../../../test/kit/database/query-interceptor.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemRandom } from '../../secrets.ts';
import { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { createAccount } from '../accounts/actions.ts';
import { clientFields, clients } from '../clients/clients.ts';
import { teams } from '../teams/teams.ts';

for (const { test, database } of stores) {
  const COUNT = 2_100;
  const NOW = 0;

  /** Creates an account and returns helpers that act as its owner. */
  async function openAccount(t: TestContext) {
    const store = await openStoreAt(t, await database(t));
    const owner = { domain: 'acme.test', email: 'owner@acme.test' };
    const { account_id, user_id } = await store.write(async (tx) => {
      await createAccount(tx, owner, NOW, systemRandom);
      return tx.queries.selectFrom('users').select(['account_id', 'user_id']).executeTakeFirstOrThrow();
    });
    const caller = { accountId: account_id, userId: user_id, role: 'owner', keyId: 0, sessionId: 0 } as const;
    const act = { ...caller, permissions: new Set<never>(), expiresAt: null };
    const change = <T>(work: (write: AccountWrite) => Promise<T>) =>
      store.write((tx) => work(new AccountWrite(tx, account_id, NOW)));
    const between = new QueryInterceptor();
    t.after(() => between.release());
    const view = new AccountView(between.installOn(store.read), account_id, NOW);
    return { store, act, change, between, view };
  }

  /** Creates an account with teams 1 to `COUNT`, and returns helpers to list, create and delete teams. */
  async function openWithTeams(t: TestContext) {
    const { store, act, change, between, view } = await openAccount(t);
    const create = (names: readonly string[]) =>
      change(async (write) => {
        for (const team_name of names) await teams.create(write, act, { team_name, color: '', users: [] });
      });
    await create(Array.from({ length: COUNT }, (_, index) => `team ${index + 1}`));
    const pageAt = async (offset: number) => {
      const { slices, total } = await teams.list(view, {}, { offset, limit: 3 });
      const names: string[] = [];
      for await (const { rows } of slices) names.push(...rows.map(({ team_name }) => team_name));
      return { names, total };
    };
    const idOf = async (name: string) => {
      const found = store.read.selectFrom('teams').select('team_id').where('team_name', '=', name);
      return (await found.executeTakeFirstOrThrow()).team_id;
    };
    const remove = async (name: string) => {
      const teamId = await idOf(name);
      await change((write) => teams.remove(write, act, teamId));
    };
    return { between, pageAt, create, remove };
  }

  test('C7 a page at a deep offset is right, whatever is added and deleted after it meanwhile', async (t) => {
    const { between, pageAt, create, remove } = await openWithTeams(t);
    const wanted = { names: ['team 2001', 'team 2002', 'team 2003'], total: COUNT };
    assert.deepEqual(await pageAt(2_000), wanted);
    for (const shift of [
      () => create(['one more', 'and one more']),
      () => remove('and one more'),
      () => Promise.all([remove(`team ${COUNT}`), create(['in its place'])]),
      () => Promise.all([remove('team 2050'), remove('team 2051')]),
    ]) {
      const { total } = await pageAt(0);
      // Delay the query for the count and its feed position.
      const counting = between.delayNext('positions');
      const asked = pageAt(2_000);
      await counting;
      await shift();
      between.release();
      assert.deepEqual(await asked, { ...wanted, total });
    }
  });

  test('C7 a page of long records is a snapshot, whatever is added, deleted and moved while it is loaded', async (t) => {
    const { view, change, act } = await openAccount(t);
    const long = 'x'.repeat(200_000);
    const ids = new Map<string, number>();
    const create = (name: string) =>
      change(async (write) => {
        const input = Object.fromEntries(
          Object.entries(clientFields).flatMap(([field, { default: initial, mode }]) =>
            mode === 'writable' ? [[field, initial]] : [],
          ),
        ) as Parameters<typeof clients.create>[2];
        const row = await clients.create(write, act, { ...input, client_name: name, notes: long });
        ids.set(name, row.client_id);
      });
    const names = Array.from({ length: 12 }, (_, index) => `client ${String(index).padStart(2, '0')}`);
    for (const name of names) await create(name);
    const { slices, total, next } = await clients.list(view, { order: 'clientname' }, { offset: 0, limit: 10 });
    const shown: string[] = [];
    let count = 0;
    for await (const { rows } of slices) {
      shown.push(...rows.map(({ client_name }) => client_name));
      count += 1;
      if (count > 1) continue;
      // After the first slice, one record is deleted, one moves to the front of the list, one moves to the end, and one
      // is created.
      await change((write) => clients.remove(write, act, ids.get('client 05') ?? 0));
      const rename = (from: string, to: string) =>
        change((write) => clients.change(write, act, ids.get(from) ?? 0, { client_name: to }));
      await rename('client 06', 'a client');
      await rename('client 00', 'the last client');
      await create('client 07, the second');
    }
    assert.ok(count > 2, `${count} slices`);
    const moved = names.slice(0, 10).filter((name) => name !== 'client 05');
    assert.deepEqual(
      shown,
      moved.map((name) => (name === 'client 06' ? 'a client' : name)),
    );
    assert.equal(total, names.length);
    const rest = await clients.list(view, { order: 'clientname' }, { offset: 0, limit: 10, after: next });
    const behind: string[] = [];
    for await (const { rows } of rest.slices) behind.push(...rows.map(({ client_name }) => client_name));
    assert.deepEqual(behind, ['client 10', 'client 11', 'the last client']);
  });
}

import assert from 'node:assert/strict';
import { startProxy } from '../../kit/network/proxy.ts';
import { startTarget } from '../../kit/network/target.ts';
import { userAtNode } from '../../kit/service/nodes.ts';
import { sharedStores } from '../../kit/service/stores.ts';

for (const { test, testService } of sharedStores) {
  for (const isMixed of [true, false]) {
    const what = isMixed ? 'writes' : 'creations';
    test(`while many ${what} of one account wait for a lock, other accounts still get connections`, async (t) => {
      const carillon = await testService(t);
      const noisy = await carillon.createAccount('noisy.test');
      const other = await carillon.createAccount('other.test');
      const { client_id } = await noisy.carillon.clients.create({ client_name: 'ACME' });
      const { account_id } = await carillon.store.read
        .selectFrom('accounts')
        .select('account_id')
        .where('domain', '=', noisy.domain)
        .executeTakeFirstOrThrow();

      // A long-running transaction holds the account lock, as an import may.
      const lockTaken = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const longTransaction = carillon.store.write(async (tx) => {
        tx.lockAccount(account_id, 'exclusive');
        await tx.queries.selectFrom('accounts').select('account_id').execute();
        lockTaken.resolve();
        await released.promise;
      });
      await lockTaken.promise;
      let responses = 0;
      const waiting = Array.from({ length: 60 }, async (_, number) => {
        const isCreation = !isMixed || number % 3 === 0;
        const path = isCreation ? '/v2/clients' : `/v2/clients/${client_id}`;
        const { status } = await carillon.call(noisy, isCreation ? 'POST' : 'PUT', path, { client_name: `${number}` });
        responses += 1;
        return status;
      });
      for (let count = 0; count < 5; count += 1)
        assert.equal((await carillon.call(other, 'POST', '/v2/clients', { client_name: 'Others' })).status, 201);
      assert.equal(responses, 0, 'the writes still wait for the lock');
      released.resolve();
      await longTransaction;
      assert.deepEqual(
        (await Promise.all(waiting)).map((status) => status < 300),
        Array(60).fill(true),
      );
    });
  }
}

for (const { test, testService, database: newDatabase } of sharedStores) {
  /** Delay of the proxy in each direction. Sending a few statements is much faster, so they arrive as one burst. */
  const ONE_WAY_MS = 25;
  const MAX_ROUND_TRIPS = 3;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  test(`a frequent write takes at most ${MAX_ROUND_TRIPS} round trips to the database`, async (t) => {
    const database = await newDatabase(t);
    const near = await testService(t, { database, options: { role: 'api' } });
    const owner = await near.createAccount('acme.test');
    const proxy = await startProxy(t, database, ONE_WAY_MS);
    // Use an API-only node, so that only statements of the request are counted.
    const far = await testService(t, { database: proxy.database, options: { role: 'api' } });
    const { carillon } = userAtNode(far, owner);
    const target = await startTarget(t);

    /** Returns the bursts of the transaction of one call. Each burst is a round trip to the database. */
    async function transactionOf(call: () => Promise<unknown>): Promise<string[]> {
      // Fill the caller cache and prepare the statements on the connections.
      await call();
      await carillon.user.get();
      const known = new Map(proxy.connections.map((passage) => [passage, passage.bursts.length]));
      await call();
      const sent = proxy.connections.map((passage) =>
        passage.bursts.slice(known.get(passage) ?? 0).map(({ text }) => text),
      );
      // Leave out the transactions that store `last_used` of keys from time to time.
      const transactions = sent.filter((bursts) => bursts.some((text) => text.includes('begin;')));
      const [bursts = [], ...more] = transactions.filter((one) => !one.some((text) => text.includes('last_used')));
      assert.equal(more.length, 0);
      return bursts;
    }

    const { project_id } = await owner.carillon.projects.create({ project_name: 'Home' });
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push((await owner.carillon.events.create(event)).event_id);
    let next = 0;
    const [some = ''] = ids;
    const nextId = () => {
      next += 1;
      return ids[next] ?? '';
    };
    const counts = new Map<string, number>();
    // A busy machine may split a burst, but never merges two bursts. The minimum is the true number.
    const count = async (what: string, call: () => Promise<unknown>) => {
      let minimum = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < 3 && minimum > MAX_ROUND_TRIPS; tries += 1) {
        minimum = Math.min(minimum, (await transactionOf(call)).length);
      }
      counts.set(what, minimum);
    };
    await count('POST /v2/events', () => carillon.events.create(event));
    await count('POST /v2/events with a project', () => carillon.events.create({ ...event, project_id }));
    await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await count('POST /v2/events with a hook', () => carillon.events.create(event));
    await count('POST /v2/events for a user, with a project', () =>
      carillon.events.create({ ...event, project_id, user_id: owner.userId }),
    );
    await count('PUT /v2/events/{event_id}', () => carillon.events.update(some, { event_name: 'Tock' }));
    await count('PUT /v2/events/{event_id} with a project', () => carillon.events.update(some, { project_id }));
    await count('DELETE /v2/events/{event_id}', () => carillon.events.delete(nextId()));
    await count('POST /v2/clients', () => carillon.clients.create({ client_name: 'Somebody' }));
    await count('POST /v2/events with an Idempotency-Key', () =>
      carillon.events.create(event, { idempotencyKey: `k${performance.now()}` }),
    );

    t.diagnostic([...counts].map(([what, trips]) => `${what}: ${trips}`).join('; '));
    for (const [what, trips] of counts) assert.ok(trips > 0 && trips <= MAX_ROUND_TRIPS, `${what}: ${trips}`);
  });
}

import assert from 'node:assert/strict';
import { shared } from '../kit/stores.ts';

for (const { test, testService } of shared) {
  for (const isMixed of [true, false]) {
    const what = isMixed ? 'writes' : 'creations';
    test(`while many ${what} of one account wait for a lock, other accounts still get connections`, async (t) => {
      const carillon = await testService(t);
      const noisy = await carillon.account('noisy.test');
      const other = await carillon.account('other.test');
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

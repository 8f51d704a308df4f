import assert from 'node:assert/strict';
import { shared } from '../kit/stores.ts';

for (const { test, testService } of shared) {
  for (const isMixed of [true, false]) {
    const what = isMixed ? 'writes' : 'creations';
    test(`however many ${what} of one account wait for each other, those of others have connections left`, async (t) => {
      const carillon = await testService(t);
      const noisy = await carillon.account('noisy.test');
      const other = await carillon.account('other.test');
      const { client_id } = await noisy.carillon.clients.create({ client_name: 'ACME' });
      const { account_id } = await carillon.store.read
        .selectFrom('accounts')
        .select('account_id')
        .where('domain', '=', noisy.domain)
        .executeTakeFirstOrThrow();

      // Somebody else is at it for long, as an import may be.
      const begun = Promise.withResolvers<void>();
      const through = Promise.withResolvers<void>();
      const long = carillon.store.write(async (tx) => {
        tx.lockAccount(account_id, 'alone');
        await tx.queries.selectFrom('accounts').select('account_id').execute();
        begun.resolve();
        await through.promise;
      });
      await begun.promise;
      let answered = 0;
      const waiting = Array.from({ length: 60 }, async (_, number) => {
        const isCreation = !isMixed || number % 3 === 0;
        const path = isCreation ? '/v2/clients' : `/v2/clients/${client_id}`;
        const { status } = await carillon.call(noisy, isCreation ? 'POST' : 'PUT', path, { client_name: `${number}` });
        answered += 1;
        return status;
      });
      for (let count = 0; count < 5; count += 1)
        assert.equal((await carillon.call(other, 'POST', '/v2/clients', { client_name: 'Others' })).status, 201);
      assert.equal(answered, 0, 'they wait still');
      through.resolve();
      await long;
      assert.deepEqual(
        (await Promise.all(waiting)).map((status) => status < 300),
        Array(60).fill(true),
      );
    });
  }
}

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { openAt } from '../../../test/kit/database/database.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { createLog } from '../../log.ts';
import { systemRandom } from '../../secrets.ts';
import { createAccount } from '../accounts/actions.ts';
import { createAuthenticator } from './authenticate.ts';

const { test, database } = sqlite;

test('C1 a key created by another process is valid immediately, also within the same event-loop iteration', async (t) => {
  const address = await database(t);
  const store = await openAt(t, address);
  const account = { domain: 'acme.test', email: 'owner@acme.test' };
  const { key, domain } = await store.write((tx) => createAccount(tx, account, Date.now(), systemRandom));
  const other = new DatabaseSync(address.slice('sqlite:'.length));
  t.after(() => other.close());
  const { authenticate } = createAuthenticator({ store, clock: systemClock, log: createLog('silent') });
  other.exec('update api_keys set revoked_at = 1');
  const before = authenticate(key, domain);
  other.exec('update api_keys set revoked_at = null');
  const after = authenticate(key, domain);
  assert.equal((await after)?.accountId, 1);
  await before;
  await new Promise((resolve) => setImmediate(resolve));
  other.exec('update api_keys set revoked_at = 1');
  assert.equal(await authenticate(key, domain), undefined);
});

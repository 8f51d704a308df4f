import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { createLog } from '../../../src/log.ts';
import { permissionsOf } from '../../../src/permissions.ts';
import { createAccount } from '../../../src/resources/accounts/actions.ts';
import { insertKey } from '../../../src/resources/keys/keys.ts';
import { insertUser } from '../../../src/resources/users/users.ts';
import type { Random } from '../../../src/secrets.ts';
import { AccountWrite } from '../../../src/store/account-scope.ts';
import { openStore } from '../../../src/store/open.ts';
import { SimulatedTime } from './time.ts';

/** A user with a key. */
export type SimulatedUser = {
  readonly domain: string;
  readonly userId: string;
  readonly key: string;
  readonly role: 'owner' | 'member';
};

/** A database with two accounts and their users. Its bytes are identical in every run. */
export type DatabaseTemplate = { readonly bytes: Buffer; readonly people: readonly SimulatedUser[] };

export function toRandomSource(seeded: SeededRandom): Random {
  return {
    fraction: seeded.nextFraction,
    bytes: (count) => Uint8Array.from({ length: count }, () => seeded.integerBelow(256)),
  };
}

export async function createTemplate(): Promise<DatabaseTemplate> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-template-'));
  const path = join(folder, 'carillon.db');
  const clock = new SimulatedTime().clockOf();
  const random = toRandomSource(seededRandom(1));
  try {
    const store = await openStore({
      database: { scheme: 'sqlite', path },
      openAs: 'command',
      clock,
      log: createLog('silent'),
      onFatal: (error) => {
        throw error;
      },
    });
    const people: SimulatedUser[] = [];
    for (const domain of ['acme.test', 'other.test']) {
      await store.write(async (tx) => {
        const email = `owner@${domain}`;
        const { user_id, key } = await createAccount(tx, { domain, email }, clock.now(), random);
        people.push({ domain, userId: String(user_id), key, role: 'owner' });
        const { account_id } = await tx.queries
          .selectFrom('users')
          .select('account_id')
          .where('user_id', '=', user_id)
          .executeTakeFirstOrThrow();
        const write = new AccountWrite(tx, account_id, clock.now());
        for (const name of ['first', 'second']) {
          const user = { email: `${name}@${domain}`, first_name: name, last_name: 'Member', role: 'member' } as const;
          const { user_id: userId } = await insertUser(write, user);
          const wanted = { userId, label: 'own', permissions: permissionsOf('member'), expiresAt: null };
          const made = await insertKey(write, wanted, random);
          people.push({ domain, userId: String(userId), key: made.key ?? '', role: 'member' });
        }
      });
    }
    await store.close();
    return { bytes: readFileSync(path), people };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

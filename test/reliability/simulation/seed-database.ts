import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../../src/log.ts';
import { permissionsOf } from '../../../src/permissions.ts';
import { createAccount } from '../../../src/resources/accounts/actions.ts';
import { insertKey } from '../../../src/resources/keys/keys.ts';
import { insertUser } from '../../../src/resources/users/users.ts';
import type { Random } from '../../../src/secrets.ts';
import { AccountWrite } from '../../../src/store/account-scope.ts';
import { openStore } from '../../../src/store/open.ts';
import { chanceFrom, type SeededChance } from '../../kit/random.ts';
import type { ApiClient } from './clients.ts';
import { Time } from './time.ts';

/** A user with a key. */
export type Person = {
  readonly domain: string;
  readonly userId: string;
  readonly key: string;
  readonly role: 'owner' | 'member';
};

/** A database with two accounts and their users; identical bytes in every run. */
export type Template = { readonly bytes: Buffer; readonly people: readonly Person[] };

export function randomOf(seeded: SeededChance): Random {
  return { fraction: seeded.fraction, bytes: (count) => Uint8Array.from({ length: count }, () => seeded.below(256)) };
}

export async function makeTemplate(): Promise<Template> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-template-'));
  const path = join(folder, 'carillon.db');
  const clock = new Time().clockOf();
  const random = randomOf(chanceFrom(1));
  try {
    const store = await openStore({
      database: { scheme: 'sqlite', path },
      as: 'command',
      clock,
      log: createLog('silent'),
      onFatal: (error) => {
        throw error;
      },
    });
    const people: Person[] = [];
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

type Key = { readonly who: Person; readonly id: string; readonly key: string; revoked: boolean };

/** Clients that issue and revoke keys and delete users. */
export class Keys {
  readonly #client: ApiClient;
  readonly #hooksOf: (who: Person) => readonly string[];
  readonly #keys: Key[] = [];

  /** @param hooksOf returns the paths of a user's hooks */
  constructor(client: ApiClient, hooksOf: (who: Person) => readonly string[]) {
    this.#client = client;
    this.#hooksOf = hooksOf;
  }

  readonly issue = (): void => {
    const who = this.#client.randomOwner();
    if (who === undefined) return;
    const body = { label: 'another', permissions: ['events:read', 'events:write'] };
    this.#client.put(who, { method: 'POST', url: '/v2/keys', body }, ({ status, json }) => {
      if (status === 201) this.#keys.push({ who, id: String(json.data.id), key: json.data.key, revoked: false });
    });
  };

  readonly revoke = (): void => {
    const key = this.#client.pick(this.#keys.filter(({ revoked }) => !revoked));
    if (key === undefined) return;
    this.#client.put(key.who, { method: 'DELETE', url: `/v2/keys/${key.id}` }, ({ status }) => {
      if (status === 200) key.revoked = true;
    });
  };

  /** C23: deleting a user ends the user's hooks. */
  readonly deleteUser = (): void => {
    const client = this.#client;
    const who = client.pick(client.people.filter(({ role }, index) => role === 'member' && index % 3 === 2));
    const owner = who && client.randomOwner(who.domain);
    if (who === undefined || owner === undefined) return;
    client.people.splice(client.people.indexOf(who), 1);
    client.deletedUsers.push(who);
    const url = `/v2/users/${who.userId}`;
    const calls = [
      client.newCall({ did: 'delete', record: client.baseUrl + url }),
      ...this.#hooksOf(who).map((path) => client.newCall({ did: 'unsubscribe', path, withUser: true })),
    ];
    client.request(owner, { method: 'DELETE', url }, calls, () => {
      this.#keys.push({ who, id: '0', key: who.key, revoked: true });
    });
  };

  /** C1: a revoked key is rejected. */
  readonly useRevokedKey = (): void => {
    const key = this.#client.pick(this.#keys.filter(({ revoked }) => revoked));
    if (key === undefined) return;
    const who = { domain: key.who.domain, key: key.key };
    this.#client.put(who, { method: 'GET', url: '/v2/events' }, ({ status }) => {
      if (status < 400) this.#client.violations.push(`key ${key.id} of ${key.who.userId} was revoked, and is accepted`);
    });
  };
}

import type { ApiClient } from './api-client.ts';
import type { SimulatedUser } from './seed-database.ts';

type IssuedKey = { readonly who: SimulatedUser; readonly id: string; readonly key: string; revoked: boolean };

/** Clients that issue and revoke keys and delete users. */
export class KeyClients {
  readonly #client: ApiClient;
  readonly #hooksOf: (who: SimulatedUser) => readonly string[];
  readonly #isBusy: (who: SimulatedUser) => boolean;
  readonly #keys: IssuedKey[] = [];

  /**
   * @param hooksOf returns the paths of a user's hooks
   * @param isBusy whether a change of such a hook is in progress
   */
  constructor(
    client: ApiClient,
    hooksOf: (who: SimulatedUser) => readonly string[],
    isBusy: (who: SimulatedUser) => boolean,
  ) {
    this.#client = client;
    this.#hooksOf = hooksOf;
    this.#isBusy = isBusy;
  }

  readonly issue = (): void => {
    const who = this.#client.randomOwner();
    if (who === undefined) return;
    const body = { label: 'another', permissions: ['events:read', 'events:write'] };
    this.#client.sendUnrecorded(who, { method: 'POST', url: '/v2/keys', body }, ({ status, json }) => {
      if (status === 201) this.#keys.push({ who, id: String(json.data.id), key: json.data.key, revoked: false });
    });
  };

  readonly revoke = (): void => {
    const key = this.#client.pick(this.#keys.filter(({ revoked }) => !revoked));
    if (key === undefined) return;
    this.#client.sendUnrecorded(key.who, { method: 'DELETE', url: `/v2/keys/${key.id}` }, ({ status }) => {
      if (status === 200) key.revoked = true;
    });
  };

  /** Deletes a user, which also ends the hooks of the user (C23). */
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
    client.sendRecorded(owner, { method: 'DELETE', url }, calls, () => {
      this.#keys.push({ who, id: '0', key: who.key, revoked: true });
    });
  };

  /** Makes a member an admin, or an admin a member: hooks with scope account then end (X11). */
  readonly changeRole = (): void => {
    const client = this.#client;
    const who = client.pick(client.people.filter(({ role }, index) => role === 'member' && index % 3 === 1));
    const owner = who && client.randomOwner(who.domain);
    if (who === undefined || owner === undefined || this.#isBusy(who) || this.#hasUnknownRole(who)) return;
    const isAdmin = !client.admins.has(who.userId);
    const call = client.newCall({ did: 'role', userId: who.userId, isAdmin });
    client.roleChanges.set(who.userId, client.lifeNumber());
    const finish = (isDone: boolean) => () => {
      client.roleChanges.delete(who.userId);
      if (isDone) client.admins[isAdmin ? 'add' : 'delete'](who.userId);
    };
    const request = {
      method: 'PUT',
      url: `/v2/users/${who.userId}`,
      body: { role: isAdmin ? 'admin' : 'member' },
    } as const;
    client.sendRecorded(owner, request, [call], finish(true), finish(false));
  };

  /** Whether a change of the role got no response. */
  #hasUnknownRole = ({ userId }: SimulatedUser): boolean => this.#client.roleChanges.has(userId);

  /** Uses a revoked key, which must be rejected (C1). */
  readonly useRevokedKey = (): void => {
    const key = this.#client.pick(this.#keys.filter(({ revoked }) => revoked));
    if (key === undefined) return;
    const who = { domain: key.who.domain, key: key.key };
    this.#client.sendUnrecorded(who, { method: 'GET', url: '/v2/events' }, ({ status }) => {
      if (status < 400) this.#client.violations.push(`key ${key.id} of ${key.who.userId} was revoked, and is accepted`);
    });
  };
}

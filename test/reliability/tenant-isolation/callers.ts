import { type Permission, permissions } from '../../../src/permissions.ts';
import { browserHeaders, type Person, type TestService } from '../../kit/service/service.ts';
import type { Tenant } from './fixture.ts';
import { EXPIRED } from './snapshot.ts';

/** A caller, identified by headers. */
export type Caller = { readonly description: string; readonly headers: Readonly<Record<string, string>> };

const unknown = 'x'.repeat(43);

/** Callers that must be rejected, by route group: missing, wrong, revoked and expired credentials of a tenant. */
export async function unauthenticatedCallers(
  carillon: TestService,
  tenant: Tenant,
  other: Tenant,
): Promise<Readonly<Record<string, readonly Caller[]>>> {
  const { owner } = tenant;
  const [revoked, expired] = [await carillon.key(owner, {}), await carillon.key(owner, { expiresAt: Date.now() - 1 })];
  const [newest] = (await owner.carillon.keys.list()).data
    .filter(({ expires }) => expires.startsWith('0000'))
    .slice(-1);
  await owner.carillon.keys.revoke(newest?.id ?? '');
  const deletedUser = await carillon.user(owner, 'admin');
  const [goneSession, ended, past] = [
    await carillon.signIn(deletedUser),
    await carillon.signIn(owner),
    await carillon.signIn(owner),
  ];
  await owner.carillon.users.delete(deletedUser.userId);
  const own = (await ended.console.sessions.list()).data.find(({ current }) => current === '1');
  await carillon.call(ended, 'DELETE', `/console/api/sessions/${own?.id}`);
  const [last] = (await past.console.sessions.list()).data.filter(({ current }) => current === '1');
  await carillon.store.write(({ queries }) =>
    queries.updateTable('sessions').set({ expires_at: EXPIRED }).where('session_id', '=', Number(last?.id)).execute(),
  );
  const { domain, key } = owner;
  const { headers: cookie } = tenant.session;
  const named = (all: Record<string, Readonly<Record<string, string>>>): Caller[] =>
    Object.entries(all).map(([description, headers]) => ({ description, headers }));
  const home = { 'sec-fetch-site': 'same-origin' };
  return {
    '/v2': named({
      'no key and no domain': {},
      'no domain': { key },
      'no key': { domain },
      'an unknown key': { domain, key: `carillon_${unknown}` },
      "another account's domain": { domain: other.owner.domain, key },
      "another account's key": { domain, key: other.owner.key },
      'a revoked key': revoked.headers,
      'an expired key': expired.headers,
      "a deleted user's key": deletedUser.headers,
      'a session': cookie,
    }),
    '/console/api': named({
      nobody: home,
      'a key': { ...home, domain, key },
      'an unknown session': browserHeaders(carillon.baseUrl, unknown),
      'an empty session': browserHeaders(carillon.baseUrl, ''),
      'a key as a session': browserHeaders(carillon.baseUrl, key),
      'the session twice': { ...home, cookie: `${cookie.cookie}; ${cookie.cookie}` },
      'the session of another port': { ...home, cookie: `carillon_1=${tenant.session.token}` },
      'the session of https': { ...home, cookie: `__Host-carillon=${tenant.session.token}` },
      'an ended session': ended.headers,
      'an expired session': past.headers,
      "a deleted user's session": goneSession.headers,
    }),
  };
}

/** Keys of the tenant's owner that lack exactly one permission, by that permission. */
export async function restrictedKeys(
  carillon: TestService,
  { owner }: Tenant,
): Promise<ReadonlyMap<Permission, Person>> {
  const keys = new Map<Permission, Person>();
  for (const lacking of permissions) {
    const others = permissions.filter((permission) => permission !== lacking);
    keys.set(lacking, await carillon.key(owner, { permissions: others }));
  }
  return keys;
}

import type { JsonSchema } from '../../../src/http/fields/field.ts';
import { idNamesOf, type Route } from '../../../src/http/routes/route.ts';
import { type Permission, permissions } from '../../../src/permissions.ts';
import { eventually } from '../../kit/eventually.ts';
import type { Target } from '../../kit/network/target.ts';
import {
  type ApiResponse,
  type ApiUser,
  browserHeaders,
  type ConsoleUser,
  type TestService,
} from '../../kit/service/service.ts';
import { EXPIRED_AT } from './checks.ts';
import { bodyProperties, placesOf, type RequestParts, routeGroups } from './operations.ts';

/**
 * An account with at least one record of every resource, created through the routes. Every text in the account
 * contains its mark.
 */
export type Tenant = {
  readonly mark: string;
  readonly owner: ApiUser;
  readonly session: ConsoleUser;
  /** Ids by parameter name: first the id of an existing record, then ids of deleted, ended or revoked records. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  /** Requests that were sent with an Idempotency-Key, by route. */
  readonly sentRequests: ReadonlyMap<Route, { readonly request: RequestParts; readonly word: string }>;
  /** ETag of a record, by the path of its route. */
  readonly etags: ReadonlyMap<string, string>;
  /** Email addresses of users of the account, one for each operation that takes an address. */
  readonly emails: readonly string[];
  /** URLs of a live and of a revoked calendar. */
  readonly calendars: { readonly live: string; readonly revoked: string };
  /** Builds a valid request of a route, with ids of this tenant. */
  requestFor(row: Route): RequestParts;
};

const consoleOnlyRoutes = routeGroups['/console/api'].filter((row) => !routeGroups['/v2'].includes(row));

/**
 * Creates a tenant with its records.
 *
 * @param mark part of every text of this tenant, and of no other tenant
 * @param busy number of additional changes, which advance the cursors of the tenant
 * @param first runs while the account has only its owner
 */
export async function createTenant(
  carillon: TestService,
  target: Target,
  { mark, busy = 0, first }: { mark: string; busy?: number; first?: (owner: ApiUser) => Promise<void> },
): Promise<Tenant> {
  const domain = `${mark}.test`;
  const owner = await carillon.createAccount(domain);
  await first?.(owner);
  const session = await carillon.signIn(owner);
  const ids: Record<string, string[]> = { user_id: [owner.userId] };
  const add = (name: string, ...more: string[]) => {
    ids[name] = [...(ids[name] ?? []), ...more];
  };
  let texts = 0;
  const text = () => {
    texts += 1;
    return `${mark}-${texts}`;
  };
  const requestFor = (row: Route): RequestParts => ({
    ids: Object.fromEntries(idNamesOf(row.path).map((name) => [name, ids[name]?.[0] ?? ''])),
    query: {},
    body: row.bodySchema === undefined ? undefined : createBody(row, ids, text, target),
    headers: {},
  });
  const sentRequests = new Map<Route, { request: RequestParts; word: string }>();
  const ask = async (row: Route, where: readonly string[] = []): Promise<ApiResponse> => {
    const request = {
      ...requestFor(row),
      ...(where.length === 0 ? {} : { ids: { [where[0] ?? '']: where[1] ?? '' } }),
    };
    const word = `${mark}-word-${sentRequests.size}`;
    sentRequests.set(row, { request, word });
    const [door, who] = consoleOnlyRoutes.includes(row) ? ['/console/api', session] : ['/v2', owner];
    const answer = await sendOperation(carillon, { routeGroup: door, method: row.method, row }, who, request, {
      'idempotency-key': word,
    });
    if (answer.status !== row.status) throw new Error(`${mark} cannot ask ${row.method} ${row.path}: ${answer.text}`);
    return answer;
  };

  await carillon.store.write(({ queries }) =>
    queries
      .updateTable('accounts')
      .set({ company_name: text(), address1: text(), address2: text(), city: text(), state: text(), phone: text() })
      .where('domain', '=', domain)
      .execute(),
  );
  let pending = routeGroups['/console/api'].filter((row) => row.method === 'POST' && row.bodySchema !== undefined);
  while (pending.length > 0) {
    const ready = pending.filter((row) => requiredIds(row).every((name) => ids[name] !== undefined));
    if (ready.length === 0) throw new Error(`nobody knows a ${requiredIds(pending[0])} for ${pending[0]?.path}`);
    for (const row of ready) {
      const made = /\/(\w+)\/(\d+)$/.exec((await ask(row)).headers.get('location') ?? '');
      const name = made === null ? undefined : pathParameterOf(`/${made[1]}`);
      if (made?.[2] !== undefined && name !== undefined && !ids[name]?.includes(made[2])) add(name, made[2]);
    }
    pending = pending.filter((row) => !ready.includes(row));
  }

  const api = owner.carillon;
  const hookId = ids.hook_id?.[0] ?? '';
  const rowOf = (path: string) => routeGroups['/v2'].find((row) => row.method === 'POST' && row.path === path) as Route;
  add('delivery_id', (await ask(rowOf('/hooks/{hook_id}/test'))).json.data.id);
  const project_id = ids.project_id?.[0] ?? '';
  await api.events.create({ event_name: text(), project_id, start_date: '20270301', due_date: '20270302' });
  const finalized = async () =>
    eventually(
      () => api.deliveries.list({ hook_id: hookId }),
      ({ data }) => data.length > 1 && data.every(({ state }) => state === 'delivered'),
    );
  add('delivery_id', ...(await finalized()).data.map(({ id }) => id).filter((id) => id !== ids.delivery_id?.[0]));
  const attempts = async () => (await api.deliveries.get(ids.delivery_id?.[0] ?? '')).attempts.length;
  const before = await attempts();
  await ask(rowOf('/deliveries/{delivery_id}/redeliver'));
  await eventually(attempts, (count) => count > before);
  const { id: ended } = await api.hooks.create({ target_url: target.urlOf(`/${text()}`), event: 'new_task' });
  await api.hooks.delete(ended);
  await ask(rowOf('/hooks/{hook_id}/restore'), ['hook_id', ended]);
  await api.hooks.delete(ended);
  const { id: revoked } = await api.keys.create({ label: text() });
  await api.keys.revoke(revoked);
  const deletedUser = await carillon.createUser(owner, 'member');
  await api.users.delete(deletedUser.userId);
  const past = await carillon.signIn(owner);
  const sessions = (await session.console.sessions.list()).data;
  const pastId = sessions.find(({ current }) => current === '0')?.id ?? '';
  await carillon.call(past, 'DELETE', `/console/api/sessions/${pastId}`);
  const calendar = async () => api.calendars.create({ label: text(), scope: 'account' });
  const [live, dead] = [await calendar(), await calendar()];
  await api.calendars.revoke(dead.id);

  add('hook_id', ended);
  add('key_id', revoked);
  add('user_id', deletedUser.userId);
  add('session_id', ...sessions.map(({ id }) => id));
  const emails: string[] = [];
  for (let index = 0; index < 4; index += 1)
    emails.push((await api.users.create({ email: `${text()}@example.test` })).email);
  const [eventId = ''] = ids.event_id ?? [];
  for (let change = 0; change < busy; change += 1) await api.events.update(eventId, { due_date: '20270303' });
  const cursor = String((await api.notifications.list({ scope: 'account' })).next);
  for (const name of ['after', 'before', 'last-event-id']) add(name, cursor);
  const etags = new Map<string, string>();
  for (const row of routeGroups['/console/api'].filter((one) => one.method === 'GET' && one.supportsPreconditions)) {
    const { headers } = await sendOperation(
      carillon,
      { routeGroup: '/console/api', method: 'GET', row },
      session,
      requestFor(row),
    );
    etags.set(row.path, headers.get('etag') ?? '');
  }
  return {
    mark,
    owner,
    session,
    ids,
    sentRequests,
    etags,
    emails,
    calendars: { live: live.url, revoked: dead.url },
    requestFor,
  };
}

/** Returns the name of the path parameter for a record of a collection. */
function pathParameterOf(collection: string): string | undefined {
  const [single] = routeGroups['/console/api'].filter(
    ({ method, path }) => method !== 'POST' && path.startsWith(`${collection}/{`) && path.endsWith('}'),
  );
  return single === undefined ? undefined : idNamesOf(single.path)[0];
}

function requiredIds(row: Route | undefined): string[] {
  const inBody = row === undefined ? [] : placesOf({ row }).filter(({ where }) => where === 'body');
  const named = inBody.filter(({ name }) => name !== 'parent_id').map(({ name }) => idKeyOf(name));
  return [...(row === undefined ? [] : idNamesOf(row.path)), ...named];
}

/** Returns the key in `ids` for a parameter or field. */
export const idKeyOf = (name: string) =>
  ({ users: 'user_id', teams: 'team_id', parent_id: 'comment_id' })[name] ?? name;

/** Valid values for fields whose schema is not specific enough. */
const fieldGenerators: Readonly<Record<string, (text: () => string, target: Target) => unknown>> = {
  target_url: (text, target) => target.urlOf(`/${text()}`),
  event: () => 'new_event',
  seconds: () => 60,
  passphrase: (text) => `a long passphrase of ${text()}`,
  current: (text) => text(),
  ics: (text) => `BEGIN:VCALENDAR\n${calendarEntry(text)}${calendarEntry(text)}END:VCALENDAR\n`,
};

const calendarEntry = (text: () => string) =>
  `BEGIN:VEVENT\nUID:${text()}\nDTSTART:20270301T090000\nSUMMARY:${text()}\nEND:VEVENT\n`;

function createBody(
  row: Route,
  ids: Readonly<Record<string, readonly string[]>>,
  text: () => string,
  target: Target,
): Record<string, unknown> {
  const own = (name: string) => ids[idKeyOf(name)]?.[0] ?? '';
  const required = (row.bodySchema?.required ?? []) as readonly string[];
  const body: Record<string, unknown> = {};
  for (const [name, schema] of bodyProperties(row)) {
    const value = fieldGenerators[name]?.(text, target) ?? createValue(name, schema, own, text);
    if (value !== undefined) body[name] = value;
    else if (required.includes(name)) throw new Error(`nobody knows a good ${name} for ${row.method} ${row.path}`);
  }
  // With another scope, a calendar or a hook takes no project.
  return row.path === '/calendars' || 'target_url' in body ? { ...body, scope: 'project' } : body;
}

function createValue(name: string, schema: JsonSchema, own: (name: string) => string, text: () => string): unknown {
  const { format, items, pattern } = schema;
  if (format === 'id' || format === 'id-or-none') return own(name);
  if ((items as JsonSchema | undefined)?.format === 'id') return [own(name)];
  if (String(format).startsWith('calendar-')) return '20270301';
  if (schema['x-text'] === undefined) return undefined;
  return pattern === undefined ? text() : `${text()}@example.test`;
}

/** Sends a request to an operation. */
export function sendOperation(
  carillon: TestService,
  { routeGroup, method, row }: { routeGroup: string; method: string; row: Route },
  who: { readonly headers: Readonly<Record<string, string>> },
  { ids, query, body, headers }: RequestParts,
  more: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''));
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`;
  const sent = method === 'GET' || method === 'HEAD' ? undefined : body;
  return carillon.call(who, method, `${routeGroup}${path}${search}`, sent, { ...headers, ...more });
}

/** A caller, identified by headers. */
export type DescribedCaller = { readonly description: string; readonly headers: Readonly<Record<string, string>> };

const unknown = 'x'.repeat(43);

/**
 * Creates callers that must be rejected, by route group: with missing, wrong, revoked and expired credentials of a
 * tenant.
 */
export async function createUnauthenticatedCallers(
  carillon: TestService,
  tenant: Tenant,
  other: Tenant,
): Promise<Readonly<Record<string, readonly DescribedCaller[]>>> {
  const { owner } = tenant;
  const [revoked, expired] = [
    await carillon.createKey(owner, {}),
    await carillon.createKey(owner, { expiresAt: Date.now() - 1 }),
  ];
  const [newest] = (await owner.carillon.keys.list()).data
    .filter(({ expires }) => expires.startsWith('0000'))
    .slice(-1);
  await owner.carillon.keys.revoke(newest?.id ?? '');
  const deletedUser = await carillon.createUser(owner, 'admin');
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
    queries
      .updateTable('sessions')
      .set({ expires_at: EXPIRED_AT })
      .where('session_id', '=', Number(last?.id))
      .execute(),
  );
  const { domain, key } = owner;
  const { headers: cookie } = tenant.session;
  const named = (all: Record<string, Readonly<Record<string, string>>>): DescribedCaller[] =>
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

/**
 * Creates keys of the owner of a tenant that lack exactly one permission. Returns each key by the permission that
 * it lacks.
 */
export async function createRestrictedKeys(
  carillon: TestService,
  { owner }: Tenant,
): Promise<ReadonlyMap<Permission, ApiUser>> {
  const keys = new Map<Permission, ApiUser>();
  for (const lacking of permissions) {
    const others = permissions.filter((permission) => permission !== lacking);
    keys.set(lacking, await carillon.createKey(owner, { permissions: others }));
  }
  return keys;
}

import { idNamesOf, type Route } from '../../../src/http/routes/route.ts';
import type { ReceivedNotification } from '../../kit/network/target.ts';
import type { ApiResponse, ApiUser, ConsoleUser, TestService } from '../../kit/service/service.ts';
import { containsMark, hidden } from './checks.ts';
import type { Tenant } from './fixture.ts';
import { routeGroups } from './operations.ts';

/** Reads every list and total that a signed-in user can read, by path. */
async function readLists(
  carillon: TestService,
  session: ConsoleUser,
): Promise<(readonly [path: string, answer: ApiResponse])[]> {
  const rows = routeGroups['/console/api'].filter(
    ({ method, path }) => method === 'GET' && idNamesOf(path).length === 0,
  );
  const asked = ({ path, parameters }: Route) => ('scope' in parameters ? [path, `${path}?scope=account`] : [path]);
  const read = async (path: string) => [path, await carillon.call(session, 'GET', `/console/api${path}`)] as const;
  return Promise.all(rows.flatMap(asked).map(read));
}

/**
 * Searches everything that a tenant can read (lists, feed, event stream, calendar) for the mark of another
 * tenant.
 */
export async function findForeignContent(carillon: TestService, tenant: Tenant, otherMark: string): Promise<string[]> {
  const lists = await readLists(carillon, tenant.session);
  const broken = lists
    .filter(([, answer]) => containsMark(otherMark, answer))
    .map(([path, { text }]) => `GET ${path} shows ${text}`);
  for (const text of [await readEventStream(carillon, tenant), await (await fetch(tenant.calendars.live)).text()])
    if (text.includes(otherMark)) broken.push(`the event stream or the calendar contains ${text}`);
  return broken;
}

/** Reads the event stream of the account up to its current end. */
async function readEventStream({ baseUrl }: TestService, { owner }: Tenant): Promise<string> {
  const { next } = await owner.carillon.notifications.list({ scope: 'account' });
  const controller = new AbortController();
  const response = await fetch(`${baseUrl}/v2/notifications?scope=account`, {
    headers: { ...owner.headers, accept: 'text/event-stream' },
    signal: controller.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(`id: ${next}\n`)) break;
  }
  controller.abort();
  return text;
}

/** Matches the paths of lists that all users of an account share (C2), and the position of the feed in a body. */
const sharedLists =
  /^\/(clients|comments|contacts|projects|tasks|subtasks|teams|time_entries|events|users|company)$|"next":"\d+"/;

const TIMESTAMP_PATTERN = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g;

/**
 * Observes a user without any records. Nothing that this user reads may change because of other users, except
 * timestamps. Reads everything now; the returned function reads everything again and returns the differences.
 *
 * @param hasOwnAccount whether the account has no other user
 */
export async function watchBystander(
  carillon: TestService,
  person: ApiUser,
  hasOwnAccount: boolean,
): Promise<() => Promise<string[]>> {
  const session = await carillon.signIn(person);
  const { url } = await person.carillon.calendars.create({ label: 'Empty', scope: 'own' });
  const read = async () => {
    const lists = (await readLists(carillon, session)).filter(([path]) => hasOwnAccount || !sharedLists.test(path));
    const texts = lists.map(
      ([path, { text }]) => [path, hasOwnAccount ? text : text.replace(sharedLists, '')] as const,
    );
    const entries = (await (await fetch(url)).text()).match(/BEGIN:VEVENT.*END:VEVENT/s)?.[0] ?? 'empty';
    const all = [...texts, ['the calendar', entries] as const];
    return new Map(all.map(([what, text]) => [what, text.replaceAll(TIMESTAMP_PATTERN, '')]));
  };
  const before = await read();
  return async () => {
    const after = [...(await read())].filter(([what, text]) => text !== before.get(what));
    return after.map(([what, text]) => `${what} was ${before.get(what)} for a user without records, and is ${text}`);
  };
}

/**
 * Returns the notifications that hooks received from another account. Every notification must be in the feed of
 * the account of its hook.
 */
export async function findForeignNotifications(
  tenants: readonly Tenant[],
  received: readonly ReceivedNotification[],
): Promise<string[]> {
  const broken: string[] = [];
  for (const { mark, owner } of tenants) {
    const { data } = await owner.carillon.notifications.list({ scope: 'account' });
    const hooks = (await owner.carillon.hooks.list()).data;
    const own = new Set(data.map((one) => one.resource_url));
    const isOwn = (url: string) => own.has(url) || hooks.some(({ id }) => url.endsWith(`/v2/hooks/${id}`));
    for (const { path, resourceUrl } of received)
      if (path.startsWith(`/${mark}-`) && !isOwn(resourceUrl))
        broken.push(`${path} received ${resourceUrl}, which is not of its account`);
  }
  return broken;
}

type CheckResult = { readonly description: string; readonly violation: string | undefined };

/** Public routes that read nothing of any account. */
const accountIndependentRoutes =
  /^(?:GET|HEAD|OPTIONS) (?:\/|\/\*|\/healthz|\/readyz|\/openapi\.json|\/docs|\/llms\.txt|\/metrics|\/bell\.svg|\/assets\/[\w.-]+|\/problems\/:code)$/;

/** A token that was never issued. */
const UNKNOWN_TOKEN = 'x'.repeat(43);

/** Two responses of a public route that takes a secret: for a secret of the tenant, and for an unknown secret. */
type SecretProbe = readonly [description: string, own: ApiResponse, unknown: ApiResponse];

const probes: Readonly<Record<string, (carillon: TestService, tenant: Tenant) => Promise<readonly SecretProbe[]>>> = {
  'POST /console/session': async (carillon, { owner, emails: [email] }) => {
    const ask = (of: object) => post(carillon, '/console/session', { passphrase: 'a passphrase of nobody', ...of });
    const nobody = await ask({ domain: 'nowhere.test', email: 'nobody@nowhere.test' });
    return [['their domain and e-mail address', await ask({ domain: owner.domain, email }), nobody]];
  },
  'POST /console/invitation': (carillon, tenant) => probeReplacedLink(carillon, tenant, '/console/invitation', {}),
  'POST /console/welcome': (carillon, tenant) =>
    probeReplacedLink(carillon, tenant, '/console/welcome', { passphrase: 'a passphrase of nobody' }),
  'DELETE /console/session': async (carillon) => {
    const signOut = (token: string) =>
      carillon.call({ headers: { ...sameOriginHeaders, cookie: `carillon=${token}` } }, 'DELETE', '/console/session');
    return [['a cookie that is none', await signOut(UNKNOWN_TOKEN), await signOut('')]];
  },
  'GET /calendar/:file': (carillon, tenant) => probeRevokedCalendar(carillon, tenant, 'GET'),
  'HEAD /calendar/:file': (carillon, tenant) => probeRevokedCalendar(carillon, tenant, 'HEAD'),
};

const sameOriginHeaders = { 'sec-fetch-site': 'same-origin' };

const post = (carillon: TestService, path: string, body: object) =>
  carillon.call({ headers: sameOriginHeaders }, 'POST', path, body);

/** Calls a route with an invitation link that was replaced by a newer link. */
async function probeReplacedLink(
  carillon: TestService,
  { owner }: Tenant,
  path: string,
  more: object,
): Promise<SecretProbe[]> {
  const old = await carillon.createInvitationLink(owner);
  await carillon.createInvitationLink(owner);
  const ask = (token: string) => post(carillon, path, { token, ...more });
  return [['a link that was replaced', await ask(old.split('/').at(-1) ?? ''), await ask(UNKNOWN_TOKEN)]];
}

async function probeRevokedCalendar(
  carillon: TestService,
  { calendars }: Tenant,
  method: string,
): Promise<SecretProbe[]> {
  const ask = (path: string) => carillon.call(undefined, method, path);
  const unknown = await ask(`/calendar/${UNKNOWN_TOKEN}.ics`);
  return [['an address that was revoked', await ask(new URL(calendars.revoked).pathname), unknown]];
}

/** Tests every mounted route that is not a known operation. `untested` lists the routes without a test. */
export async function checkPublicRoutes(
  carillon: TestService,
  tenant: Tenant,
  mounted: readonly string[],
): Promise<{ results: CheckResult[]; untested: string[] }> {
  const results: CheckResult[] = [];
  const untested: string[] = [];
  for (const name of mounted.filter((one) => !accountIndependentRoutes.test(one))) {
    const ask = probes[name];
    if (ask === undefined) untested.push(name);
    for (const [description, own, unknown] of (await ask?.(carillon, tenant)) ?? [])
      results.push({ description: `${name}, ${description}:`, violation: hidden(own, unknown) });
  }
  return { results, untested };
}

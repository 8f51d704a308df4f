import { idNames, type Route } from '../../../src/http/routes/route.ts';
import type { Notification } from '../../kit/network/target.ts';
import type { Answer, Person, SignedIn, TestService } from '../../kit/service/service.ts';
import type { Tenant } from './fixture.ts';
import { doors } from './operations.ts';
import { markIn } from './response-diff.ts';

/** Reads every list and total that a signed-in user can read, by path. */
async function listsOf(carillon: TestService, session: SignedIn): Promise<(readonly [path: string, answer: Answer])[]> {
  const rows = doors['/console/api'].filter(({ method, path }) => method === 'GET' && idNames(path).length === 0);
  const asked = ({ path, parameters }: Route) => ('scope' in parameters ? [path, `${path}?scope=account`] : [path]);
  const read = async (path: string) => [path, await carillon.call(session, 'GET', `/console/api${path}`)] as const;
  return Promise.all(rows.flatMap(asked).map(read));
}

/**
 * Searches everything that a tenant can read (lists, feed, event stream, calendar) for the mark of another
 * tenant.
 */
export async function foreignContentSeenBy(
  carillon: TestService,
  tenant: Tenant,
  otherMark: string,
): Promise<string[]> {
  const lists = await listsOf(carillon, tenant.session);
  const broken = lists
    .filter(([, answer]) => markIn(otherMark, answer))
    .map(([path, { text }]) => `GET ${path} shows ${text}`);
  for (const text of [await streamed(carillon, tenant), await (await fetch(tenant.calendars.live)).text()])
    if (text.includes(otherMark)) broken.push(`the event stream or the calendar contains ${text}`);
  return broken;
}

/** Reads the event stream of the account up to its current end. */
async function streamed({ baseUrl }: TestService, { owner }: Tenant): Promise<string> {
  const { next } = await owner.carillon.notifications.list({ scope: 'account' });
  const over = new AbortController();
  const response = await fetch(`${baseUrl}/v2/notifications?scope=account`, {
    headers: { ...owner.headers, accept: 'text/event-stream' },
    signal: over.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(`id: ${next}\n`)) break;
  }
  over.abort();
  return text;
}

/** C2: lists that every user of an account shares, and the position of the feed. */
const sharedLists =
  /^\/(clients|comments|contacts|projects|tasks|subtasks|teams|time_entries|events|users|company)$|"next":"\d+"/;

const MOMENT = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g;

/**
 * Watches a user without any records: nothing they read may change because of others, except timestamps.
 * Reads everything now; the returned function reads again and reports differences.
 *
 * @param hasOwnAccount whether the account has no other user
 */
export async function watchBystander(
  carillon: TestService,
  person: Person,
  hasOwnAccount: boolean,
): Promise<() => Promise<string[]>> {
  const session = await carillon.signIn(person);
  const { url } = await person.carillon.calendars.create({ label: 'Empty', scope: 'own' });
  const read = async () => {
    const lists = (await listsOf(carillon, session)).filter(([path]) => hasOwnAccount || !sharedLists.test(path));
    const texts = lists.map(
      ([path, { text }]) => [path, hasOwnAccount ? text : text.replace(sharedLists, '')] as const,
    );
    const entries = (await (await fetch(url)).text()).match(/BEGIN:VEVENT.*END:VEVENT/s)?.[0] ?? 'empty';
    const all = [...texts, ['the calendar', entries] as const];
    return new Map(all.map(([what, text]) => [what, text.replaceAll(MOMENT, '')]));
  };
  const before = await read();
  return async () => {
    const after = [...(await read())].filter(([what, text]) => text !== before.get(what));
    return after.map(([what, text]) => `${what} was ${before.get(what)} for a user without records, and is ${text}`);
  };
}

/** Notifications that do not belong to the account of their hook: each must be in the feed of that account. */
export async function foreignNotifications(
  tenants: readonly Tenant[],
  received: readonly Notification[],
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

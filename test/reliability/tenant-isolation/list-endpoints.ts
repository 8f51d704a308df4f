import { idNames, type Route } from '../../../src/http/routes/route.ts';
import type { Answer, Person, SignedIn, TestService } from '../../kit/service.ts';
import type { Notification } from '../../kit/target.ts';
import type { Tenant } from './fixture.ts';
import { doors } from './operations.ts';
import { markIn } from './response-diff.ts';

/** Every list and every sum that somebody signed in can ask for, by how it is asked for. */
async function listsOf(carillon: TestService, session: SignedIn): Promise<(readonly [path: string, answer: Answer])[]> {
  const rows = doors['/console/api'].filter(({ method, path }) => method === 'GET' && idNames(path).length === 0);
  const asked = ({ path, parameters }: Route) => ('scope' in parameters ? [path, `${path}?scope=account`] : [path]);
  const read = async (path: string) => [path, await carillon.call(session, 'GET', `/console/api${path}`)] as const;
  return Promise.all(rows.flatMap(asked).map(read));
}

/** What a tenant can read in all: its lists, its feed and stream, its calendar. None of it may bear the other's mark. */
export async function seenBy(carillon: TestService, tenant: Tenant, otherMark: string): Promise<string[]> {
  const lists = await listsOf(carillon, tenant.session);
  const broken = lists
    .filter(([, answer]) => markIn(otherMark, answer))
    .map(([path, { text }]) => `GET ${path} shows ${text}`);
  for (const text of [await streamed(carillon, tenant), await (await fetch(tenant.calendars.live)).text()])
    if (text.includes(otherMark)) broken.push(`the stream or the calendar shows ${text}`);
  return broken;
}

/** The stream of the account, to its end at this moment. */
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

/** What every user of an account reads of it (C2), and how far its feed has come. */
const common =
  /^\/(clients|comments|contacts|projects|tasks|subtasks|teams|time_entries|events|users|company)$|"next":"\d+"/;

const MOMENT = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g;

/**
 * Somebody who has nothing: whatever others do, what they read stays as it is, every number of it, but for moments. Reads
 * it now, and answers what has become different when it is asked.
 *
 * @param isAlone whether nobody else is in their account
 */
export async function bystander(
  carillon: TestService,
  person: Person,
  isAlone: boolean,
): Promise<() => Promise<string[]>> {
  const session = await carillon.signIn(person);
  const { url } = await person.carillon.calendars.create({ label: 'Empty', scope: 'own' });
  const read = async () => {
    const lists = (await listsOf(carillon, session)).filter(([path]) => isAlone || !common.test(path));
    const texts = lists.map(([path, { text }]) => [path, isAlone ? text : text.replace(common, '')] as const);
    const entries = (await (await fetch(url)).text()).match(/BEGIN:VEVENT.*END:VEVENT/s)?.[0] ?? 'empty';
    const all = [...texts, ['the calendar', entries] as const];
    return new Map(all.map(([what, text]) => [what, text.replaceAll(MOMENT, '')]));
  };
  const before = await read();
  return async () => {
    const after = [...(await read())].filter(([what, text]) => text !== before.get(what));
    return after.map(([what, text]) => `${what} was ${before.get(what)} for somebody who has nothing, and is ${text}`);
  };
}

/** What receivers heard that is of another account than theirs: what a hook was told has to stand in its account's feed. */
export async function foreignNotifications(
  tenants: readonly Tenant[],
  heard: readonly Notification[],
): Promise<string[]> {
  const broken: string[] = [];
  for (const { mark, owner } of tenants) {
    const { data } = await owner.carillon.notifications.list({ scope: 'account' });
    const hooks = (await owner.carillon.hooks.list()).data;
    const own = new Set(data.map((one) => one.resource_url));
    const isOwn = (url: string) => own.has(url) || hooks.some(({ id }) => url.endsWith(`/v2/hooks/${id}`));
    for (const { path, resourceUrl } of heard)
      if (path.startsWith(`/${mark}-`) && !isOwn(resourceUrl)) broken.push(`${path} was told of ${resourceUrl}`);
  }
  return broken;
}

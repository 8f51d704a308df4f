import { idNames } from '../../src/http/route.ts';
import type { TestService } from '../../test/harness/service.ts';
import type { Notification } from '../../test/harness/target.ts';
import type { House } from './house.ts';
import { markIn } from './judged.ts';
import { doors } from './operations.ts';

/** What a house can read in all: its lists, its feed and stream, its calendar. None of it may bear the other's mark. */
export async function seenBy(carillon: TestService, house: House, otherMark: string): Promise<string[]> {
  const broken: string[] = [];
  const lists = doors['/console/api'].filter(({ method, path }) => method === 'GET' && idNames(path).length === 0);
  const queries = (names: readonly string[]) => ['', ...(names.includes('scope') ? ['?scope=account'] : [])];
  for (const { path, parameters } of lists) {
    for (const query of queries(Object.keys(parameters))) {
      const answer = await carillon.call(house.session, 'GET', `/console/api${path}${query}`);
      if (markIn(otherMark, answer)) broken.push(`GET ${path}${query} shows ${answer.text}`);
    }
  }
  for (const text of [await streamed(carillon, house), await (await fetch(house.calendars.live)).text()])
    if (text.includes(otherMark)) broken.push(`the stream or the calendar shows ${text}`);
  return broken;
}

/** The stream of the account, to its end at this moment. */
async function streamed({ baseUrl }: TestService, { owner }: House): Promise<string> {
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

/** What receivers heard that is of another account than theirs: what a hook was told has to stand in its account's feed. */
export async function toldOf(houses: readonly House[], heard: readonly Notification[]): Promise<string[]> {
  const broken: string[] = [];
  for (const { mark, owner } of houses) {
    const { data } = await owner.carillon.notifications.list({ scope: 'account' });
    const hooks = (await owner.carillon.hooks.list()).data;
    const own = new Set(data.map((one) => one.resource_url));
    const isOwn = (url: string) => own.has(url) || hooks.some(({ id }) => url.endsWith(`/v2/hooks/${id}`));
    for (const { path, resourceUrl } of heard)
      if (path.startsWith(`/${mark}-`) && !isOwn(resourceUrl)) broken.push(`${path} was told of ${resourceUrl}`);
  }
  return broken;
}

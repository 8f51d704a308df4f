import { formatTimestamp } from '../../http/fields/dates.ts';
import type { CapabilityDocument, CapabilityUrl } from '../../http/routes/capability-urls.ts';
import { etagOf } from '../../http/routes/etag.ts';
import { plusDays } from '../../ical/days.ts';
import { beginning, ENDING } from '../../ical/write.ts';
import { zoneAround } from '../../ical/zone.ts';
import type { Log } from '../../log.ts';
import type { Permission, Role } from '../../permissions.ts';
import { hashToken } from '../../secrets.ts';
import type { AccountView } from '../../store/account-scope.ts';
import type { Queries, Store } from '../../store/store.ts';
import { version } from '../../version.ts';
import { userName } from '../users/lookup.ts';
import { grantedPermissions, type Scope } from './calendars.ts';
import { type CalendarQuery, entriesOf, MAX_ENTRIES } from './collect-entries.ts';

/** Number of past days in a calendar: one year. */
const BACK_DAYS = 366;
/** Number of future days in a calendar: three years. */
const AHEAD_DAYS = 3 * 366;

/**
 * Minimum time between two writes of `last_fetched`. Calendar programs poll often, and not every poll may cause a
 * write.
 */
const FETCHED_RESOLUTION_MS = 3_600_000;

/** Maximum number of calendars whose last fetch this process remembers. A full map is cleared. */
const MAX_REMEMBERED = 10_000;

const DAY_MS = 86_400_000;
const TOKEN = /^([\w-]{43})\.ics$/;

export type OpenCalendarPorts = { readonly store: Store; readonly log: Log; readonly baseUrl: () => string };

/** Creates the capability URL that calendar programs poll (X9). The token in the URL is the only credential. */
export function calendarAddress(ports: OpenCalendarPorts): CapabilityUrl {
  const fetches = new FetchTimes(ports);
  const lookups = new Lookups(ports.store);
  return {
    folder: '/calendar',
    type: 'text/calendar; charset=utf-8',
    fileName: 'carillon.ics',
    find: (read, file, now) => find(read, file, now, { ...ports, fetches, lookups }),
  };
}

type Found = NonNullable<Awaited<ReturnType<typeof findCalendar>>>;

/** Finds the document of a calendar URL. Returns undefined if the URL is unknown, expired or revoked. */
async function find(
  read: Queries,
  file: string,
  now: number,
  {
    fetches,
    lookups,
    baseUrl,
  }: Pick<OpenCalendarPorts, 'baseUrl'> & Readonly<{ fetches: FetchTimes; lookups: Lookups }>,
): Promise<CapabilityDocument | undefined> {
  const [, token] = TOKEN.exec(file) ?? [];
  if (token === undefined) return undefined;
  const found = await lookups.find(hashToken(token), (tokenHash) => findCalendar(read, tokenHash, now));
  if (found === undefined) return undefined;
  const role = found.role as Role;
  const reach = grantedPermissions(found.permissions, role);
  if (!reach.has('events:read') && !reach.has('tasks:read')) return undefined;
  await fetches.note(found, now);
  return documentOf(found, reach, now, baseUrl());
}

/**
 * Shares one query between concurrent fetches of a calendar URL. A query that was sent before a commit is not shared
 * after the commit.
 */
class Lookups {
  readonly #running = new Map<string, Promise<Found | undefined>>();

  constructor(store: Pick<Store, 'onCommitted'>) {
    store.onCommitted(() => this.#running.clear());
  }

  find(tokenHash: string, query: (tokenHash: string) => Promise<Found | undefined>): Promise<Found | undefined> {
    const running = this.#running.get(tokenHash);
    if (running !== undefined) return running;
    const started = query(tokenHash).finally(() => {
      if (this.#running.get(tokenHash) === started) this.#running.delete(tokenHash);
    });
    this.#running.set(tokenHash, started);
    return started;
  }
}

async function findCalendar(read: Queries, tokenHash: string, now: number) {
  const row = await read
    .selectFrom('calendars')
    .innerJoin('users', 'users.user_id', 'calendars.user_id')
    .innerJoin('accounts', 'accounts.account_id', 'calendars.account_id')
    .innerJoin('positions', 'positions.account_id', 'calendars.account_id')
    .leftJoin('projects', (join) =>
      join
        .onRef('projects.project_id', '=', 'calendars.project_id')
        .onRef('projects.account_id', '=', 'calendars.account_id'),
    )
    .selectAll('calendars')
    .select(['users.role', 'users.email', 'users.first_name', 'users.last_name'])
    .select(['accounts.domain', 'accounts.company_name', 'accounts.time_zone as account_zone'])
    .select(['positions.position', 'projects.project_name'])
    .where('calendars.token_hash', '=', tokenHash)
    .where('users.date_deleted', 'is', null)
    .where(({ or, eb }) => or([eb('calendars.expires_at', 'is', null), eb('calendars.expires_at', '>', now)]))
    .executeTakeFirst();
  if (row?.scope === 'project' && row.project_name === null) return undefined;
  return row;
}

/**
 * Stores when each calendar was last fetched, at most once an hour. Concurrent fetches of one calendar write its row
 * once.
 */
class FetchTimes {
  readonly #ports: Pick<OpenCalendarPorts, 'store' | 'log'>;
  readonly #lastStored = new Map<number, number>();

  constructor(ports: Pick<OpenCalendarPorts, 'store' | 'log'>) {
    this.#ports = ports;
  }

  /** Records a fetch. A failed write is only logged, because it must not fail the fetch. */
  async note({ calendar_id, last_fetched }: Found, now: number): Promise<void> {
    const last = Math.max(last_fetched ?? 0, this.#lastStored.get(calendar_id) ?? 0);
    if (now - last < FETCHED_RESOLUTION_MS) return;
    if (this.#lastStored.size >= MAX_REMEMBERED) this.#lastStored.clear();
    this.#lastStored.set(calendar_id, now);
    const { store, log } = this.#ports;
    try {
      await store.write(({ queries }) =>
        queries.updateTable('calendars').set({ last_fetched: now }).where('calendar_id', '=', calendar_id).execute(),
      );
    } catch (err) {
      this.#lastStored.delete(calendar_id);
      log.warn({ event: 'calendars.last_fetched_failed', err });
    }
  }
}

function documentOf(found: Found, reach: ReadonlySet<Permission>, now: number, baseUrl: string): CapabilityDocument {
  const today = formatTimestamp(now).slice(0, 10);
  const zone = zoneOf(found);
  const name = nameOf(found);
  const facts = [
    version,
    found.calendar_id,
    found.position,
    [...reach],
    zone ?? '',
    today,
    name,
    found.domain,
    baseUrl,
  ];
  return {
    accountId: found.account_id,
    // Every change of the contents advances the feed position of the account, so the ETag is computed without the
    // entries.
    tag: etagOf(JSON.stringify(facts)),
    body: (view) => textOf(view, wantedOf(found, reach, today, baseUrl), { today, name, zone }),
  };
}

/**
 * Returns the zone of the written times. Without a configured zone it is undefined: the times are floating, and are the
 * same in every reader's zone.
 */
function zoneOf({ time_zone, account_zone }: Found): string | undefined {
  if (time_zone !== '') return time_zone;
  return account_zone === 'UTC' ? undefined : account_zone;
}

function nameOf(found: Found): string {
  const { company_name, domain, project_name } = found;
  const company = company_name === '' ? domain : company_name;
  const own = { own: userName(found) || found.email, project: project_name ?? '', account: '' };
  const first = own[found.scope as Scope];
  return first === '' ? company : `${first} · ${company}`;
}

type Unzoned = Omit<CalendarQuery, 'zone'>;

function wantedOf(found: Found, permissions: ReadonlySet<Permission>, today: string, baseUrl: string): Unzoned {
  return {
    scope: found.scope as Scope,
    userId: found.user_id,
    projectId: found.project_id,
    permissions,
    from: plusDays(today, -BACK_DAYS),
    to: plusDays(today, AHEAD_DAYS),
    domain: found.domain,
    baseUrl,
  };
}

type Header = { readonly today: string; readonly name: string; readonly zone: string | undefined };

async function* textOf(
  view: AccountView,
  wanted: Unzoned,
  { today, name, zone: zoneName }: Header,
): AsyncGenerator<string | Buffer> {
  const description = `From ${wanted.from} to ${wanted.to}; of events, tasks and subtasks at most ${MAX_ENTRIES} each.`;
  const [fromMs, untilMs] = [Date.parse(wanted.from) - 366 * DAY_MS, Date.parse(wanted.to) + 366 * DAY_MS];
  const zone = zoneName === undefined ? undefined : zoneAround(zoneName, fromMs, untilMs);
  yield beginning({ name, description, zone });
  yield* entriesOf(view, { ...wanted, zone }, today);
  yield ENDING;
}

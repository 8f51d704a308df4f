import { formatTimestamp } from '../../http/fields/dates.ts';
import type { CapabilityDocument, CapabilityUrl } from '../../http/routes/capability-urls.ts';
import { etagOf } from '../../http/routes/etag.ts';
import { addDays } from '../../ical/days.ts';
import { CALENDAR_END, writeCalendarStart } from '../../ical/write.ts';
import { createCalendarZone } from '../../ical/zone.ts';
import type { Log } from '../../log.ts';
import type { Permission, Role } from '../../permissions.ts';
import { hashToken } from '../../secrets.ts';
import type { AccountView } from '../../store/account-scope.ts';
import type { Queries, Store } from '../../store/store.ts';
import { version } from '../../version.ts';
import { fullNameOf } from '../users/lookup.ts';
import { type CalendarScope, grantedPermissions } from './calendars.ts';
import { type CalendarQuery, entriesOf, MAX_ENTRIES } from './collect-entries.ts';

/** Number of past days in a calendar: one year. */
const PAST_DAYS = 366;
/** Number of future days in a calendar: three years. */
const FUTURE_DAYS = 3 * 366;

/**
 * Minimum time between two writes of `last_fetched`. Calendar programs poll often, and not every poll may cause a
 * write.
 */
const LAST_FETCHED_INTERVAL_MS = 3_600_000;

/** Maximum number of calendars whose last fetch this process remembers. A full map is cleared. */
const MAX_REMEMBERED_FETCHES = 10_000;

const DAY_MS = 86_400_000;
const TOKEN = /^([\w-]{43})\.ics$/;

export type CalendarUrlPorts = { readonly store: Store; readonly log: Log; readonly baseUrl: () => string };

/** Creates the capability URL that calendar programs poll (X9). The token in the URL is the only credential. */
export function createCalendarUrl(ports: CalendarUrlPorts): CapabilityUrl {
  const fetches = new LastFetchedTracker(ports);
  const lookups = new SharedLookups(ports.store);
  return {
    pathPrefix: '/calendar',
    type: 'text/calendar; charset=utf-8',
    fileName: 'carillon.ics',
    find: (read, file, now) => findDocument(read, file, now, { ...ports, fetches, lookups }),
  };
}

type FoundCalendar = NonNullable<Awaited<ReturnType<typeof findCalendar>>>;

/** Finds the document of a calendar URL. Returns undefined if the URL is unknown, expired or revoked. */
async function findDocument(
  read: Queries,
  file: string,
  now: number,
  {
    fetches,
    lookups,
    baseUrl,
  }: Pick<CalendarUrlPorts, 'baseUrl'> & Readonly<{ fetches: LastFetchedTracker; lookups: SharedLookups }>,
): Promise<CapabilityDocument | undefined> {
  const [, token] = TOKEN.exec(file) ?? [];
  if (token === undefined) return undefined;
  const found = await lookups.find(hashToken(token), (tokenHash) => findCalendar(read, tokenHash, now));
  if (found === undefined) return undefined;
  const role = found.role as Role;
  const reach = grantedPermissions(found.permissions, role);
  if (!reach.has('events:read') && !reach.has('tasks:read')) return undefined;
  await fetches.recordFetch(found, now);
  return toDocument(found, reach, now, baseUrl());
}

/**
 * Shares one query between concurrent fetches of a calendar URL. A query that was sent before a commit is not shared
 * after the commit.
 */
class SharedLookups {
  readonly #running = new Map<string, Promise<FoundCalendar | undefined>>();

  constructor(store: Pick<Store, 'onCommitted'>) {
    store.onCommitted(() => this.#running.clear());
  }

  find(
    tokenHash: string,
    query: (tokenHash: string) => Promise<FoundCalendar | undefined>,
  ): Promise<FoundCalendar | undefined> {
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
class LastFetchedTracker {
  readonly #ports: Pick<CalendarUrlPorts, 'store' | 'log'>;
  readonly #lastStored = new Map<number, number>();

  constructor(ports: Pick<CalendarUrlPorts, 'store' | 'log'>) {
    this.#ports = ports;
  }

  /** Records a fetch. A failed write is only logged, because it must not fail the fetch. */
  async recordFetch({ calendar_id, last_fetched }: FoundCalendar, now: number): Promise<void> {
    const last = Math.max(last_fetched ?? 0, this.#lastStored.get(calendar_id) ?? 0);
    if (now - last < LAST_FETCHED_INTERVAL_MS) return;
    if (this.#lastStored.size >= MAX_REMEMBERED_FETCHES) this.#lastStored.clear();
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

function toDocument(
  found: FoundCalendar,
  reach: ReadonlySet<Permission>,
  now: number,
  baseUrl: string,
): CapabilityDocument {
  const today = formatTimestamp(now).slice(0, 10);
  const zone = writtenZoneOf(found);
  const name = calendarNameOf(found);
  const etagParts = [
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
    etag: etagOf(JSON.stringify(etagParts)),
    body: (view) => writeCalendar(view, toCalendarQuery(found, reach, today, baseUrl), { today, name, zone }),
  };
}

/**
 * Returns the zone of the written times. Without a configured zone it is undefined: the times are floating, and are the
 * same in every reader's zone.
 */
function writtenZoneOf({ time_zone, account_zone }: FoundCalendar): string | undefined {
  if (time_zone !== '') return time_zone;
  return account_zone === 'UTC' ? undefined : account_zone;
}

function calendarNameOf(found: FoundCalendar): string {
  const { company_name, domain, project_name } = found;
  const company = company_name === '' ? domain : company_name;
  const own = { own: fullNameOf(found) || found.email, project: project_name ?? '', account: '' };
  const first = own[found.scope as CalendarScope];
  return first === '' ? company : `${first} · ${company}`;
}

type UnzonedQuery = Omit<CalendarQuery, 'zone'>;

function toCalendarQuery(
  found: FoundCalendar,
  permissions: ReadonlySet<Permission>,
  today: string,
  baseUrl: string,
): UnzonedQuery {
  return {
    scope: found.scope as CalendarScope,
    userId: found.user_id,
    projectId: found.project_id,
    permissions,
    from: addDays(today, -PAST_DAYS),
    to: addDays(today, FUTURE_DAYS),
    domain: found.domain,
    baseUrl,
  };
}

type CalendarHeader = { readonly today: string; readonly name: string; readonly zone: string | undefined };

async function* writeCalendar(
  view: AccountView,
  wanted: UnzonedQuery,
  { today, name, zone: zoneName }: CalendarHeader,
): AsyncGenerator<string | Buffer> {
  const description = `From ${wanted.from} to ${wanted.to}; of events, tasks and subtasks at most ${MAX_ENTRIES} each.`;
  const [fromMs, untilMs] = [Date.parse(wanted.from) - 366 * DAY_MS, Date.parse(wanted.to) + 366 * DAY_MS];
  const zone = zoneName === undefined ? undefined : createCalendarZone(zoneName, fromMs, untilMs);
  yield writeCalendarStart({ name, description, zone });
  yield* entriesOf(view, { ...wanted, zone }, today);
  yield CALENDAR_END;
}

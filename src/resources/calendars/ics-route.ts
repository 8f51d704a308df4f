import { SingleFlight } from '../../async/single-flight.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { CapabilityDocument, CapabilityUrl } from '../../http/routes/capability-urls.ts';
import { etagOf } from '../../http/routes/respond.ts';
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
import { type CalendarScope, getEffectivePermissions } from './calendars.ts';
import type { CalendarDefinition } from './collect-entries.ts';
import { MAX_ENTRIES_PER_TYPE, streamEntries } from './stream-entries.ts';

/** Number of past days in a calendar: one year. */
const CALENDAR_PAST_DAYS = 366;
/** Number of future days in a calendar: three years. */
const CALENDAR_FUTURE_DAYS = 3 * 366;

/**
 * Minimum time between two writes of `last_fetched` for one calendar. Calendar programs poll often, so not every poll
 * causes a write.
 */
const LAST_FETCHED_INTERVAL_MS = 3_600_000;

/** Maximum number of calendars whose last fetch this process remembers. A full map is cleared. */
const MAX_REMEMBERED_FETCHES = 10_000;

const DAY_MS = 86_400_000;
const ICS_FILE_NAME_PATTERN = /^([\w-]{43})\.ics$/;

type CalendarUrlDeps = { readonly store: Store; readonly log: Log; readonly baseUrl: () => string };

/** Creates the capability URL that calendar programs poll (X9). The token in the URL is the only credential. */
export function createCalendarUrl(deps: CalendarUrlDeps): CapabilityUrl {
  const lastFetchedTracker = new LastFetchedTracker(deps);
  const lookups: CalendarLookups = new SingleFlight();
  // A query that was sent before a commit is not shared after the commit.
  deps.store.onCommitted(() => lookups.forgetRuns());
  return {
    pathPrefix: '/calendar',
    mediaType: 'text/calendar; charset=utf-8',
    downloadName: 'carillon.ics',
    findDocument: (queries, fileName, now) =>
      findCalendarDocument(queries, fileName, now, { ...deps, lastFetchedTracker, lookups }),
  };
}

type FoundCalendar = NonNullable<Awaited<ReturnType<typeof findCalendar>>>;
/** The running queries for calendars, by token hash. Concurrent fetches of a calendar URL share one. */
type CalendarLookups = SingleFlight<string, FoundCalendar | undefined>;

/** Finds the document of a calendar URL. Returns undefined if the URL is unknown, expired or revoked. */
async function findCalendarDocument(
  queries: Queries,
  fileName: string,
  now: number,
  {
    lastFetchedTracker,
    lookups,
    baseUrl,
  }: Pick<CalendarUrlDeps, 'baseUrl'> & Readonly<{ lastFetchedTracker: LastFetchedTracker; lookups: CalendarLookups }>,
): Promise<CapabilityDocument | undefined> {
  const [, token] = ICS_FILE_NAME_PATTERN.exec(fileName) ?? [];
  if (token === undefined) return undefined;
  const tokenHash = hashToken(token);
  const calendar = await lookups.run(tokenHash, () => findCalendar(queries, tokenHash, now));
  if (calendar === undefined) return undefined;
  const role = calendar.role as Role;
  const permissions = getEffectivePermissions(calendar.permissions, role);
  if (!permissions.has('events:read') && !permissions.has('tasks:read')) return undefined;
  await lastFetchedTracker.recordFetch(calendar, now);
  return createCalendarDocument(calendar, permissions, now, baseUrl());
}

async function findCalendar(queries: Queries, tokenHash: string, now: number) {
  const row = await queries
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
  readonly #deps: Pick<CalendarUrlDeps, 'store' | 'log'>;
  readonly #lastStoredAtById = new Map<number, number>();

  constructor(deps: Pick<CalendarUrlDeps, 'store' | 'log'>) {
    this.#deps = deps;
  }

  /** Records a fetch. A failed write is only logged, because it must not fail the fetch. */
  async recordFetch({ calendar_id, last_fetched }: FoundCalendar, now: number): Promise<void> {
    const lastFetchedAt = Math.max(last_fetched ?? 0, this.#lastStoredAtById.get(calendar_id) ?? 0);
    if (now - lastFetchedAt < LAST_FETCHED_INTERVAL_MS) return;
    if (this.#lastStoredAtById.size >= MAX_REMEMBERED_FETCHES) this.#lastStoredAtById.clear();
    this.#lastStoredAtById.set(calendar_id, now);
    const { store, log } = this.#deps;
    try {
      await store.write(({ queries }) =>
        queries.updateTable('calendars').set({ last_fetched: now }).where('calendar_id', '=', calendar_id).execute(),
      );
    } catch (err) {
      this.#lastStoredAtById.delete(calendar_id);
      log.warn({ event: 'calendars.last_fetched_failed', err });
    }
  }
}

function createCalendarDocument(
  calendar: FoundCalendar,
  permissions: ReadonlySet<Permission>,
  now: number,
  baseUrl: string,
): CapabilityDocument {
  const today = formatTimestamp(now).slice(0, 10);
  const zoneName = outputTimeZoneOf(calendar);
  const name = calendarNameOf(calendar);
  const etagParts = [
    version,
    calendar.calendar_id,
    calendar.position,
    [...permissions],
    zoneName ?? '',
    today,
    name,
    calendar.domain,
    baseUrl,
  ];
  return {
    accountId: calendar.account_id,
    // Every change of the contents advances the feed position of the account, so the ETag is computed without the
    // entries.
    etag: etagOf(JSON.stringify(etagParts)),
    streamBody: (view) =>
      streamCalendar(view, toCalendarDefinition(calendar, permissions, today, baseUrl), { today, name, zoneName }),
  };
}

/**
 * Returns the time zone of the written times; undefined if no zone is configured. Times without a zone are floating:
 * calendar programs show them unchanged in every zone.
 */
function outputTimeZoneOf({ time_zone, account_zone }: FoundCalendar): string | undefined {
  if (time_zone !== '') return time_zone;
  return account_zone === 'UTC' ? undefined : account_zone;
}

function calendarNameOf(calendar: FoundCalendar): string {
  const { company_name, domain, project_name } = calendar;
  const companyName = company_name === '' ? domain : company_name;
  const namesByScope = { own: fullNameOf(calendar) || calendar.email, project: project_name ?? '', account: '' };
  const scopeName = namesByScope[calendar.scope as CalendarScope];
  return scopeName === '' ? companyName : `${scopeName} · ${companyName}`;
}

type CalendarDefinitionWithoutZone = Omit<CalendarDefinition, 'zone'>;

function toCalendarDefinition(
  calendar: FoundCalendar,
  permissions: ReadonlySet<Permission>,
  today: string,
  baseUrl: string,
): CalendarDefinitionWithoutZone {
  return {
    scope: calendar.scope as CalendarScope,
    userId: calendar.user_id,
    projectId: calendar.project_id,
    permissions,
    firstDay: addDays(today, -CALENDAR_PAST_DAYS),
    lastDay: addDays(today, CALENDAR_FUTURE_DAYS),
    domain: calendar.domain,
    baseUrl,
  };
}

type CalendarStreamOptions = { readonly today: string; readonly name: string; readonly zoneName: string | undefined };

async function* streamCalendar(
  view: AccountView,
  calendarDefinition: CalendarDefinitionWithoutZone,
  { today, name, zoneName }: CalendarStreamOptions,
): AsyncGenerator<string | Buffer> {
  const description = `From ${calendarDefinition.firstDay} to ${calendarDefinition.lastDay}; of events, tasks and subtasks at most ${MAX_ENTRIES_PER_TYPE} each.`;
  const [fromMs, untilMs] = [
    Date.parse(calendarDefinition.firstDay) - 366 * DAY_MS,
    Date.parse(calendarDefinition.lastDay) + 366 * DAY_MS,
  ];
  const zone = zoneName === undefined ? undefined : createCalendarZone(zoneName, fromMs, untilMs);
  yield writeCalendarStart({ name, description, zone });
  yield* streamEntries(view, { ...calendarDefinition, zone }, today);
  yield CALENDAR_END;
}

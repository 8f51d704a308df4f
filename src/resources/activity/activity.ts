import { type SqlBool, sql } from 'kysely';
import { occurrenceKinds } from '../../delivery/outbox/event-kinds.ts';
import { ALL_KINDS, hookScopes } from '../../delivery/outbox/subscriptions.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import { createRecordSchema, parseId, type StoredRecordOf, serializeRecord } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, readOnlyRecords } from '../../http/fields/reference-fields.ts';
import { readOnlyEnum, readOnlyText, readOnlyTexts } from '../../http/fields/scalar-fields.ts';
import { pagingParameters } from '../../http/routes/pagination.ts';
import {
  enumParameter,
  idParameter,
  type ParsedParameters,
  parseQueryParameters,
  type QueryParameter,
} from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { getHook } from '../hooks/read-hooks.ts';
import {
  kindsParameter,
  type Occurrence,
  resolveVisibility,
  selectOccurrences,
  toFeedEntry,
  type Visibility,
} from '../notifications/notifications.ts';
import { activityDeliveryFields, loadDeliveries } from './entry-deliveries.ts';

/** Response fields of an activity entry: an occurrence with its deliveries. */
const activityFields = {
  cursor: ownRecordId('Its position in the feed.'),
  kind: readOnlyEnum('What happened.', occurrenceKinds),
  resource_url: readOnlyText('The address of the record, also of a deleted one.'),
  record_id: readOnlyId('The record.'),
  user_id: readOnlyId('The user who caused it.'),
  project_id: readOnlyId('The project of the record; "0" for none.'),
  previous_project_id: readOnlyId('The project that the record left; "0" for none.'),
  fields: readOnlyTexts('The names of the changed fields, for the kinds changed_….'),
  occurred_at: readOnlyTimestamp('When it happened, UTC.'),
  deliveries: readOnlyRecords('Its deliveries; at most 500.', activityDeliveryFields),
};

/** Maximum number of entries on a page. */
const MAX_ENTRIES_PER_PAGE = 200;
/** Default number of entries on a page. */
const DEFAULT_ENTRIES_PER_PAGE = 50;

const activityParameters = {
  before: {
    description: 'Only entries before this cursor. Default: the newest.',
    schema: { type: 'string', pattern: '^\\d{1,16}$' },
    errorMessage: 'must be a cursor from a response',
    parse: parseId,
  } as QueryParameter<number>,
  limit: {
    ...pagingParameters.limit,
    description: `Number of entries; more than ${MAX_ENTRIES_PER_PAGE} is taken as ${MAX_ENTRIES_PER_PAGE}.`,
    schema: { type: 'integer', minimum: 1, default: DEFAULT_ENTRIES_PER_PAGE },
    parse(text: string) {
      const limit = pagingParameters.limit.parse(text);
      return limit === undefined ? undefined : Math.min(limit, MAX_ENTRIES_PER_PAGE);
    },
  } as QueryParameter<number>,
  kind: kindsParameter('Only these kinds, separated by commas.'),
  hook_id: idParameter('Only occurrences with a delivery to this hook; needs access to the hook.'),
  project_id: idParameter('Only what happened to this project and the records in it, also with hook_id.'),
  scope: enumParameter('own: your occurrences; project: those in the project; account: all, for admins.', hookScopes),
};

/** Maximum number of feed positions that one call scans for entries that the caller may see. */
const MAX_SCANNED_POSITIONS = 100_000;

/**
 * Tolerated clock difference between nodes, in milliseconds, when occurrences are compared with the lifetime of a hook.
 */
const MAX_CLOCK_SKEW_MS = 60_000;

type ActivityRow = StoredRecordOf<typeof activityFields>;
type ActivityParameterValues = ParsedParameters<typeof activityParameters>;

/** A page of activity entries. `nextCursor` is the query parameter `before` of the next page; undefined on the last. */
type ActivityPage = { readonly rows: readonly ActivityRow[]; readonly nextCursor: number | undefined };

/**
 * Lists the occurrences (domain events) before a cursor, newest first, each with its deliveries. Feed positions are
 * assigned in commit order, so concurrent writes add no entry between two pages. The caller sees the same occurrences
 * as in the feed (X2).
 */
async function listActivity(
  view: AccountView,
  caller: Caller,
  parameterValues: ActivityParameterValues,
  baseUrl: string,
): Promise<ActivityPage> {
  const { hook_id: hookId, limit = DEFAULT_ENTRIES_PER_PAGE } = parameterValues;
  const visibility =
    hookId === undefined
      ? resolveVisibility(caller, parameterValues)
      : await loadHookVisibility(view, caller, parameterValues, hookId);
  const { position } = await view.selectFrom('positions').select('positions.position').executeTakeFirstOrThrow();
  const beforePosition = Math.min(parameterValues.before ?? position + 1, position + 1);
  const occurrencePage = await loadOccurrencesBefore(view, visibility, beforePosition, limit);
  const { deliveriesByPosition, firstCompletePosition } = await loadDeliveries(view, occurrencePage.occurrences, {
    hookId,
    userId: isAdmin(caller) ? undefined : caller.userId,
  });
  const completeOccurrences = occurrencePage.occurrences.filter(
    (occurrence, index) => index === 0 || occurrence.position >= firstCompletePosition,
  );
  const rows = completeOccurrences
    .map((occurrence) => ({
      ...toFeedEntry(occurrence, baseUrl),
      deliveries: deliveriesByPosition.get(occurrence.position) ?? [],
    }))
    .filter((row) => hookId === undefined || row.deliveries.length > 0);
  const isTruncated = completeOccurrences.length < occurrencePage.occurrences.length;
  return { rows, nextCursor: isTruncated ? completeOccurrences.at(-1)?.position : occurrencePage.nextCursor };
}

/**
 * The occurrences that a caller may see, limited to a time range. Both limits are inclusive and in milliseconds since
 * the epoch.
 */
type TimeLimitedVisibility = Visibility & {
  /** The project of the hook with scope `project`, in addition to the project that the caller has requested. */
  readonly hookProjectId?: number | undefined;
  readonly minOccurredAt?: number;
  readonly maxOccurredAt?: number | undefined;
};

/**
 * Returns the occurrences that a hook may have delivered: of its kinds and its scope, during its lifetime. A caller who
 * may see the hook may also see these occurrences.
 */
async function loadHookVisibility(
  view: AccountView,
  caller: Caller,
  parameterValues: ActivityParameterValues,
  hookId: number,
): Promise<TimeLimitedVisibility> {
  const { kinds, projectId } = resolveVisibility(caller, parameterValues);
  const hook = await getHook(view, caller, hookId);
  const { date_created: createdAt, date_ended: endedAt } = hook;
  const reportsAllKinds = hook.events.includes(ALL_KINDS);
  return {
    userId: hook.scope === 'own' ? (hook.user_id ?? 0) : undefined,
    projectId,
    hookProjectId: hook.scope === 'project' ? (hook.project_id ?? 0) : undefined,
    kinds: new Set([...kinds].filter((kind) => reportsAllKinds || hook.events.includes(kind))),
    minOccurredAt: (createdAt ?? 0) - MAX_CLOCK_SKEW_MS,
    maxOccurredAt: endedAt === null ? undefined : endedAt + MAX_CLOCK_SKEW_MS,
  };
}

async function loadOccurrencesBefore(
  view: AccountView,
  visibility: TimeLimitedVisibility,
  beforePosition: number,
  limit: number,
): Promise<{ occurrences: Occurrence[]; nextCursor: number | undefined }> {
  const minPosition = beforePosition - MAX_SCANNED_POSITIONS;
  const occurrences = await loadOccurrencesBetween(view, visibility, minPosition, beforePosition, limit);
  const lastScannedPosition = occurrences.length < limit ? minPosition : (occurrences.at(-1)?.position ?? minPosition);
  return {
    occurrences,
    nextCursor: (await isLastPage(view, visibility, lastScannedPosition)) ? undefined : lastScannedPosition,
  };
}

async function loadOccurrencesBetween(
  view: AccountView,
  { userId, projectId, hookProjectId, kinds, minOccurredAt, maxOccurredAt }: TimeLimitedVisibility,
  minPosition: number,
  beforePosition: number,
  limit: number,
): Promise<Occurrence[]> {
  if (kinds.size === 0) return [];
  let query = selectOccurrences(view)
    .where('occurrences.position', '<', beforePosition)
    .where('occurrences.position', '>=', minPosition)
    .where('occurrences.kind', 'in', [...kinds]);
  if (userId !== undefined) query = query.where('occurrences.user_id', '=', userId);
  for (const id of [projectId, hookProjectId].filter((one) => one !== undefined))
    query = query.where(sql<SqlBool>`${id} in (occurrences.project_id, occurrences.previous_project_id)`);
  if (minOccurredAt !== undefined) query = query.where('occurrences.occurred_at', '>=', minOccurredAt);
  if (maxOccurredAt !== undefined) query = query.where('occurrences.occurred_at', '<=', maxOccurredAt);
  return query.orderBy('occurrences.position', 'desc').limit(limit).execute();
}

/** Returns whether a page that ends at a feed position is the last page: no earlier occurrence can be visible. */
async function isLastPage(
  view: AccountView,
  { minOccurredAt, kinds }: TimeLimitedVisibility,
  position: number,
): Promise<boolean> {
  if (kinds.size === 0) return true;
  const oldestOccurrence = await selectOccurrences(view).orderBy('occurrences.position').limit(1).executeTakeFirst();
  if (oldestOccurrence === undefined || oldestOccurrence.position >= position) return true;
  if (minOccurredAt === undefined) return false;
  const occurrenceAtPosition = await selectOccurrences(view)
    .where('occurrences.position', '=', position)
    .executeTakeFirst();
  return occurrenceAtPosition !== undefined && occurrenceAtPosition.occurred_at < minOccurredAt;
}

/** Creates the route for the activity of the account. Only the console has it; the API does not. */
export function createActivityRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/activity',
      description: 'Lists all occurrences, newest first, with their deliveries.',
      permission: 'hooks:read',
      parameters: activityParameters,
      bodySchema: undefined,
      status: 200,
      responseSchema: {
        type: 'object',
        required: ['data', 'next'],
        properties: {
          data: { type: 'array', items: createRecordSchema(activityFields) },
          next: {
            type: 'string',
            pattern: '^\\d*$',
            description: 'The value of before for the next page; empty at the end.',
          },
        },
      },
      recordedKinds: [],
      problems: [],
      supportsPreconditions: false,
      mode: 'read',
      async run(view, caller, input) {
        const parameterValues = parseQueryParameters(activityParameters, input.query);
        const { rows, nextCursor } = await listActivity(view, caller, parameterValues, baseUrl());
        return {
          body: { data: rows.map((row) => serializeRecord(activityFields, row)), next: String(nextCursor ?? '') },
        };
      },
    },
  ];
}

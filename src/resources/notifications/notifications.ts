import {
  buildResourceUrl,
  isOccurrenceKind,
  type OccurrenceKind,
  occurrenceKinds,
  permissionFor,
} from '../../delivery/outbox/event-kinds.ts';
import { type HookScope, hookScopes } from '../../delivery/outbox/subscriptions.ts';
import { defineFeedRoute, type StoredFeedPage } from '../../http/feed/follow-route.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId } from '../../http/fields/reference-fields.ts';
import { readOnlyEnum, readOnlyText, readOnlyTexts } from '../../http/fields/scalar-fields.ts';
import {
  enumParameter,
  idParameter,
  type ParsedParameters,
  type QueryParameter,
} from '../../http/routes/query-parameters.ts';
import type { FeedRequest, Route } from '../../http/routes/route.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { invalidInput, Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** Fields of a feed entry: one occurrence (domain event) of the account (X2). */
const notificationFields = {
  cursor: ownRecordId('Its position in the feed; later entries have higher ones.'),
  kind: readOnlyEnum('What happened.', occurrenceKinds, 'NotificationKind'),
  resource_url: readOnlyText('The address of the record, also of a deleted one.'),
  occurred_at: readOnlyTimestamp('When it happened, UTC.'),
  user_id: readOnlyId('The user who caused it: the creator of a new record, otherwise the user of the key.'),
  project_id: readOnlyId('The project of the record; "0" for none.'),
  previous_project_id: readOnlyId('The project that the record has left with this change; "0" for none.'),
  fields: readOnlyTexts('The names of the changed fields, for the kinds changed_….'),
};

/** A parameter for one or several event kinds, separated by commas. */
export const kindsParameter = (description: string): QueryParameter<readonly OccurrenceKind[]> => ({
  description,
  schema: { type: 'string', pattern: '^[a-z_]+(,[a-z_]+)*$' },
  errorMessage: `must be one or several of ${occurrenceKinds.join(', ')}, separated by commas`,
  parse(text) {
    const kinds = text.split(',');
    return kinds.every(isOccurrenceKind) ? kinds : undefined;
  },
});

const notificationParameters = {
  kind: kindsParameter('Only these kinds, separated by commas.'),
  project_id: idParameter('Only what happened to this project and the records in it.'),
  scope: enumParameter(
    'own: your occurrences; project: those of all users in the project of project_id; account: those of all users, for admins.',
    hookScopes,
  ),
};

/** Minimum number of occurrences read per query. */
const MIN_ROWS_PER_QUERY = 100;
/** Maximum number of occurrences read per query. */
const MAX_ROWS_PER_QUERY = 1_000;
/** Maximum number of occurrences scanned per call. */
export const MAX_SCANNED_OCCURRENCES = 10_000;

type NotificationRow = StoredRecordOf<typeof notificationFields>;
type FeedParameterValues = ParsedParameters<typeof notificationParameters>;

/**
 * Reads the feed after a cursor, in commit order and without gaps (X2). Entries that the caller may not see are left
 * out. `nextCursor` is after these entries too, so that they are scanned only once.
 */
async function loadFeedPage(
  view: AccountView,
  caller: Caller,
  parameterValues: FeedParameterValues,
  { after, limit }: FeedRequest,
  baseUrl: string,
): Promise<StoredFeedPage<NotificationRow>> {
  const visibility = resolveVisibility(caller, parameterValues);
  const { position, epoch_start: epochStart } = await view
    .selectFrom('positions')
    .select(['positions.position', 'positions.epoch_start'])
    .executeTakeFirstOrThrow();
  if (after === 'latest' || after === position) return { rows: [], nextCursor: position, isEnd: true };
  // A cursor that is too high, or too old because it is from before a restore, was never issued in this epoch.
  if (after !== undefined && (after > position || after < epochStart)) throw new Problem('cursor_gone');

  const rows: NotificationRow[] = [];
  let lastScannedPosition = after;
  for (let scannedCount = 0; scannedCount < MAX_SCANNED_OCCURRENCES; ) {
    const batchSize = Math.min(MAX_ROWS_PER_QUERY, Math.max(MIN_ROWS_PER_QUERY, limit - rows.length));
    const foundOccurrences = await loadOccurrencesAfter(view, lastScannedPosition ?? epochStart, batchSize);
    // Feed positions have no gaps. If the next position is missing, the cursor is too old: retention has deleted the
    // occurrence at this position.
    const [firstOccurrence] = foundOccurrences;
    if (
      lastScannedPosition !== undefined &&
      lastScannedPosition < position &&
      firstOccurrence?.position !== lastScannedPosition + 1
    )
      throw new Problem('cursor_gone');
    for (const occurrence of foundOccurrences) {
      if (rows.length === limit) return { rows, nextCursor: lastScannedPosition ?? position, isEnd: false };
      lastScannedPosition = occurrence.position;
      if (isVisible(visibility, occurrence)) rows.push(toFeedEntry(occurrence, baseUrl));
    }
    if (foundOccurrences.length < batchSize) return { rows, nextCursor: lastScannedPosition ?? position, isEnd: true };
    scannedCount += foundOccurrences.length;
  }
  return { rows, nextCursor: lastScannedPosition ?? position, isEnd: false };
}

function loadOccurrencesAfter(view: AccountView, position: number, limit: number): Promise<Occurrence[]> {
  return selectOccurrences(view)
    .where('occurrences.position', '>', position)
    .orderBy('occurrences.position')
    .limit(limit)
    .execute();
}

/** Converts an occurrence to a feed entry and the id of its record. */
export function toFeedEntry({ position, fields, previous_project_id, ...rest }: Occurrence, baseUrl: string) {
  return {
    ...rest,
    fields: fields?.split(',').filter((name) => name !== '') ?? [],
    previous_project_id: previous_project_id === rest.project_id ? 0 : previous_project_id,
    cursor: position,
    resource_url: buildResourceUrl(baseUrl, rest.kind as OccurrenceKind, rest.record_id),
  };
}

export function createNotificationRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    defineFeedRoute({
      path: '/notifications',
      description: 'Reads the feed: all occurrences of the last 90 days, in order and without gaps.',
      permission: 'hooks:read',
      parameters: notificationParameters,
      fields: notificationFields,
      cursorAndKindOf: ({ cursor, kind }) => ({ cursor, kind: kind ?? '' }),
      handle: (view, caller, parameterValues, feedRequest) =>
        loadFeedPage(view, caller, parameterValues, feedRequest, baseUrl()),
    }),
  ];
}

/** A stored occurrence. `occurred_at` is in milliseconds since the epoch. */
export type Occurrence = {
  readonly position: number;
  readonly kind: string;
  readonly user_id: number;
  readonly record_id: number;
  readonly occurred_at: number;
  readonly project_id: number;
  readonly previous_project_id: number;
  readonly fields: string | null;
};

/** Selects the feed entries (occurrences) of an account. The calling code adds conditions, order and limit. */
export function selectOccurrences(view: AccountView) {
  return view
    .selectFrom('occurrences')
    .select([
      'occurrences.position',
      'occurrences.kind',
      'occurrences.user_id',
      'occurrences.record_id',
      'occurrences.occurred_at',
      'occurrences.project_id',
      'occurrences.previous_project_id',
      'occurrences.fields',
    ]);
}

/**
 * The occurrences that a caller may see (X2). Each is of one of these `kinds`, was caused by the user `userId`, and
 * concerns the project `projectId`; undefined for any user or project.
 */
export type Visibility = {
  readonly userId: number | undefined;
  readonly projectId?: number | undefined;
  readonly kinds: ReadonlySet<string>;
};

type VisibilityParameterValues = {
  readonly kind?: readonly OccurrenceKind[];
  readonly scope?: HookScope;
  readonly project_id?: number;
};

/**
 * Returns which of the requested occurrences the caller may see. Throws `not_permitted` for scope `account` if the
 * caller is not an admin.
 */
export function resolveVisibility(
  caller: Caller,
  { kind: kinds = occurrenceKinds, scope, project_id: projectId }: VisibilityParameterValues,
): Visibility {
  if (scope === 'account' && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'Only admins may follow the whole account.' });
  }
  if (scope === 'project' && projectId === undefined)
    throw invalidInput([{ field: 'project_id', message: 'is required with scope project' }]);
  return {
    userId: scope === undefined || scope === 'own' ? caller.userId : undefined,
    projectId,
    // Kinds that a newer version has recorded are not in `occurrenceKinds`, so they are never included.
    kinds: new Set(kinds.filter((kind) => caller.permissions.has(permissionFor(kind)))),
  };
}

function isVisible(
  visibility: Visibility,
  occurrence: Pick<Occurrence, 'kind' | 'user_id' | 'project_id' | 'previous_project_id'>,
): boolean {
  const { userId, projectId, kinds } = visibility;
  if (projectId !== undefined && projectId !== occurrence.project_id && projectId !== occurrence.previous_project_id)
    return false;
  return (userId ?? occurrence.user_id) === occurrence.user_id && kinds.has(occurrence.kind);
}

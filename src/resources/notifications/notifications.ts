import { type Kind, kinds, resourceUrl } from '../../delivery/outbox/event-kinds.ts';
import { type FeedPage, follow } from '../../http/feed/follow-route.ts';
import type { Shown } from '../../http/fields/field.ts';
import { key, readOnlyId, readOnlyText, readOnlyTimestamp, readOnlyWord } from '../../http/fields/field-types.ts';
import { type Given, wordParameter } from '../../http/routes/query-parameters.ts';
import type { FeedRequest, Route } from '../../http/routes/route.ts';
import type { Caller } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { type Occurrence, occurrencesOf } from './queries.ts';
import { isWithin, reachOf } from './visibility.ts';

/** Fields of a feed entry (X2). */
export const notificationFields = {
  cursor: key('Its position in the feed; later entries have higher ones.'),
  kind: readOnlyWord('What happened.', Object.keys(kinds), 'NotificationKind'),
  resource_url: readOnlyText('The address of the record, also of a deleted one.'),
  occurred_at: readOnlyTimestamp('When it happened, UTC.'),
  user_id: readOnlyId('The user who caused it: the creator of a new record, otherwise the user of the key.'),
};

export const notificationParameters = {
  kind: wordParameter('Only this kind.', Object.keys(kinds) as Kind[]),
  scope: wordParameter('own: your occurrences; account: those of all users, for admins.', ['own', 'account']),
};

/** Minimum and maximum number of occurrences read per query, and the maximum scanned per call. */
const MIN_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;
export const MAX_PER_CALL = 10_000;

type NotificationRow = Shown<typeof notificationFields>;
type Query = Given<typeof notificationParameters>;

/**
 * X2: reads the feed after a cursor, in commit order and without gaps. Entries that the caller may not see are left out,
 * and `next` is after them as well, so they are scanned only once.
 */
export async function followNotifications(
  view: AccountView,
  caller: Caller,
  query: Query,
  { after, limit }: FeedRequest,
  baseUrl: string,
): Promise<FeedPage<NotificationRow>> {
  const reach = reachOf(caller, query);
  const { position, epoch_start: epochStart } = await view
    .selectFrom('positions')
    .select(['positions.position', 'positions.epoch_start'])
    .executeTakeFirstOrThrow();
  if (after === 'latest' || after === position) return { rows: [], next: position, isEnd: true };
  // A cursor above the position, or from before a restore, was never issued in this epoch.
  if (after !== undefined && (after > position || after < epochStart)) throw new Problem('cursor_gone');

  const rows: NotificationRow[] = [];
  let reached = after;
  for (let scanned = 0; scanned < MAX_PER_CALL; ) {
    const size = Math.min(MAX_PAGE_SIZE, Math.max(MIN_PAGE_SIZE, limit - rows.length));
    const found = await occurrencesAfter(view, reached ?? epochStart, size);
    // Positions have no gaps: if the next one is missing, retention has deleted it.
    const [first] = found;
    if (reached !== undefined && reached < position && first?.position !== reached + 1)
      throw new Problem('cursor_gone');
    for (const row of found) {
      if (rows.length === limit) return { rows, next: reached ?? position, isEnd: false };
      reached = row.position;
      if (isWithin(reach, row)) rows.push(toRow(row, baseUrl));
    }
    if (found.length < size) return { rows, next: reached ?? position, isEnd: true };
    scanned += found.length;
  }
  return { rows, next: reached ?? position, isEnd: false };
}

function occurrencesAfter(view: AccountView, position: number, limit: number): Promise<Occurrence[]> {
  return occurrencesOf(view)
    .where('occurrences.position', '>', position)
    .orderBy('occurrences.position')
    .limit(limit)
    .execute();
}

function toRow({ position, kind, record_id, ...rest }: Occurrence, baseUrl: string): NotificationRow {
  return { ...rest, cursor: position, kind, resource_url: resourceUrl(baseUrl, kind as Kind, record_id) };
}

export function notificationRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    follow({
      path: '/notifications',
      description: 'Reads the feed: all occurrences of the last 90 days, in order and without gaps.',
      permission: 'hooks:read',
      parameters: notificationParameters,
      fields: notificationFields,
      entry: ({ cursor, kind }) => ({ cursor, kind: kind ?? '' }),
      call: (view, caller, given, reading) => followNotifications(view, caller, given, reading, baseUrl()),
    }),
  ];
}

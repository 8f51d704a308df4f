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

/** An occurrence, as the feed shows it (X2). */
export const notificationFields = {
  cursor: key('Its place in the account; the next entry has a higher one.'),
  kind: readOnlyWord('What happened.', Object.keys(kinds), 'NotificationKind'),
  resource_url: readOnlyText('The address of the record; of a deleted one, where it was.'),
  occurred_at: readOnlyTimestamp('When it happened, UTC.'),
  user_id: readOnlyId('Who caused it: the recorded creator of a new record, else whose key did it.'),
};

export const notificationParameters = {
  kind: wordParameter('Of this kind alone.', Object.keys(kinds) as Kind[]),
  scope: wordParameter('own: what you caused; account: what anybody of the account did, for admins.', [
    'own',
    'account',
  ]),
};

/** Occurrences that are read in one query, at the least and at the most, and in one call. */
const MIN_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;
export const MAX_PER_CALL = 10_000;

type NotificationRow = Shown<typeof notificationFields>;
type Wanted = Given<typeof notificationParameters>;

/**
 * X2: what happened behind a cursor, in the order of the commits, without a gap. What is not for this caller is left
 * out, and `next` lies behind that, too, so that nobody reads it twice.
 */
export async function followNotifications(
  view: AccountView,
  caller: Caller,
  wanted: Wanted,
  { after, limit }: FeedRequest,
  baseUrl: string,
): Promise<FeedPage<NotificationRow>> {
  const reach = reachOf(caller, wanted);
  const { position, epoch_start: epochStart } = await view
    .selectFrom('positions')
    .select(['positions.position', 'positions.epoch_start'])
    .executeTakeFirstOrThrow();
  if (after === 'latest' || after === position) return { rows: [], next: position, isEnd: true };
  // Ahead of everything, or from before a restore: it was never given out in this life of the database.
  if (after !== undefined && (after > position || after < epochStart)) throw new Problem('cursor_gone');

  const rows: NotificationRow[] = [];
  let reached = after;
  for (let scanned = 0; scanned < MAX_PER_CALL; ) {
    const size = Math.min(MAX_PAGE_SIZE, Math.max(MIN_PAGE_SIZE, limit - rows.length));
    const found = await occurrencesAfter(view, reached ?? epochStart, size);
    // Positions have no gap: where the next one is missing, it is not kept any more.
    const [first] = found;
    if (reached !== undefined && reached < position && first?.position !== reached + 1)
      throw new Problem('cursor_gone');
    for (const row of found) {
      if (rows.length === limit) return { rows, next: reached ?? position, isEnd: false };
      reached = row.position;
      if (isWithin(reach, row)) rows.push(shown(row, baseUrl));
    }
    if (found.length < size) return { rows, next: reached ?? position, isEnd: true };
    scanned += found.length;
  }
  return { rows, next: reached ?? position, isEnd: false };
}

function occurrencesAfter(view: AccountView, position: number, most: number): Promise<Occurrence[]> {
  return occurrencesOf(view)
    .where('occurrences.position', '>', position)
    .orderBy('occurrences.position')
    .limit(most)
    .execute();
}

function shown({ position, kind, record_id, ...rest }: Occurrence, baseUrl: string): NotificationRow {
  return { ...rest, cursor: position, kind, resource_url: resourceUrl(baseUrl, kind as Kind, record_id) };
}

/** X2. */
export function notificationRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    follow({
      path: '/notifications',
      description: 'The feed: everything that happened, in order and without a gap, for 90 days.',
      permission: 'hooks:read',
      parameters: notificationParameters,
      fields: notificationFields,
      entry: ({ cursor, kind }) => ({ cursor, kind: kind ?? '' }),
      call: (view, caller, given, reading) => followNotifications(view, caller, given, reading, baseUrl()),
    }),
  ];
}

import { type Caller, isAdmin } from '../../access.ts';
import { type Kind, kinds, permissionFor, resourceUrl } from '../../delivery/kinds.ts';
import type { Shown } from '../../http/fields.ts';
import type { Found, Reading } from '../../http/follow.ts';
import type { Given } from '../../http/query.ts';
import { Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account.ts';
import type { notificationFields, notificationParameters } from './schema.ts';

/** Occurrences that are read in one query, at the least and at the most, and in one call. */
const FEWEST_AT_ONCE = 100;
const MOST_AT_ONCE = 1_000;
const MOST_A_CALL = 10_000;

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
  { after, limit }: Reading,
  baseUrl: string,
): Promise<Found<NotificationRow>> {
  if (wanted.scope === 'account' && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'Only admins may follow the whole account.' });
  }
  const { position, epoch_start: epochStart } = await view
    .selectFrom('positions')
    .select(['positions.position', 'positions.epoch_start'])
    .executeTakeFirstOrThrow();
  if (after === position) return { rows: [], next: after, isEnd: true };
  // Ahead of everything, or from before a restore: it was never given out in this life of the database.
  if (after !== undefined && (after > position || after < epochStart)) throw new Problem('cursor_gone');

  const rows: NotificationRow[] = [];
  const isFor = (row: Occurrence) => isWanted(row, caller, wanted);
  let reached = after;
  for (let scanned = 0; scanned < MOST_A_CALL; ) {
    const size = Math.min(MOST_AT_ONCE, Math.max(FEWEST_AT_ONCE, limit - rows.length));
    const found = await occurrencesAfter(view, reached ?? epochStart, size);
    // Positions have no gap: where the next one is missing, it is not kept any more.
    const [first] = found;
    if (reached !== undefined && reached < position && first?.position !== reached + 1)
      throw new Problem('cursor_gone');
    for (const row of found) {
      if (rows.length === limit) return { rows, next: reached ?? position, isEnd: false };
      reached = row.position;
      if (isFor(row)) rows.push(shown(row, baseUrl));
    }
    if (found.length < size) return { rows, next: reached ?? position, isEnd: true };
    scanned += found.length;
  }
  return { rows, next: reached ?? position, isEnd: false };
}

type Occurrence = {
  readonly position: number;
  readonly kind: string;
  readonly user_id: number;
  readonly record_id: number;
  readonly occurred_at: number;
};

function occurrencesAfter(view: AccountView, position: number, most: number): Promise<Occurrence[]> {
  return view
    .selectFrom('occurrences')
    .select([
      'occurrences.position',
      'occurrences.kind',
      'occurrences.user_id',
      'occurrences.record_id',
      'occurrences.occurred_at',
    ])
    .where('occurrences.position', '>', position)
    .orderBy('occurrences.position')
    .limit(most)
    .execute();
}

function isWanted({ kind, user_id }: Occurrence, caller: Caller, wanted: Wanted): boolean {
  if (wanted.scope !== 'account' && user_id !== caller.userId) return false;
  if (wanted.kind !== undefined && wanted.kind !== kind) return false;
  // A newer version may have recorded what this one has no name for.
  return isKind(kind) && caller.permissions.has(permissionFor(kind));
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind);
}

function shown({ position, kind, record_id, ...rest }: Occurrence, baseUrl: string): NotificationRow {
  return { ...rest, cursor: position, kind, resource_url: resourceUrl(baseUrl, kind as Kind, record_id) };
}

import type { Expression, SqlBool } from 'kysely';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';

/** A live hook, and the occurrences of its account from a feed position on that it missed. */
type MissedOccurrences = {
  readonly hookId: number;
  readonly firstPosition: number;
  /** The occurrences that the hook reports. */
  readonly reportedCondition: Expression<SqlBool>;
};

/** Number of feed positions per statement: a statement blocks all requests on SQLite. */
const POSITIONS_PER_STATEMENT = 1_000;

/** Enqueues a pending delivery of each missed occurrence, except of those that have one. */
export async function enqueueMissed(write: AccountWrite, missed: MissedOccurrences): Promise<void> {
  const oldest = await write
    .selectFrom('occurrences')
    .select('occurrences.position')
    .where('occurrences.position', '>=', missed.firstPosition)
    .orderBy('occurrences.position')
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined) return;
  const newest = await write.selectFrom('positions').select('positions.position').executeTakeFirstOrThrow();
  for (let first = oldest.position; first <= newest.position; first += POSITIONS_PER_STATEMENT)
    await buildEnqueueQuery(write, { ...missed, firstPosition: first }, first + POSITIONS_PER_STATEMENT).execute();
}

/** Builds the query that enqueues deliveries of the missed occurrences before a feed position. */
function buildEnqueueQuery(
  write: AccountWrite,
  { hookId, firstPosition, reportedCondition }: MissedOccurrences,
  endPosition: number,
) {
  return AccountWrite.transactionOf(write)
    .queries.insertInto('pending_deliveries')
    .columns(['account_id', 'user_id', 'hook_id', 'position', 'kind', 'record_id', 'fields', 'created_at'])
    .expression((from) =>
      from
        .selectFrom('occurrences')
        .innerJoin('hooks', 'hooks.account_id', 'occurrences.account_id')
        .where('hooks.hook_id', '=', hookId)
        .where('occurrences.account_id', '=', write.accountId)
        .where('occurrences.position', '>=', firstPosition)
        .where('occurrences.position', '<', endPosition)
        .where(reportedCondition)
        .select(({ val }) => [
          'occurrences.account_id',
          'hooks.user_id',
          'hooks.hook_id',
          'occurrences.position',
          'occurrences.kind',
          'occurrences.record_id',
          'occurrences.fields',
          val(write.now).as('created_at'),
        ])
        .orderBy('occurrences.position'),
    )
    .onConflict((conflict) => conflict.columns(['hook_id', 'position']).doNothing());
}

/** `Retry-After` of a write that is rejected because of the quota, seconds. */
const QUOTA_RETRY_AFTER_S = 10;

/** Creates the problem for a write that would enqueue deliveries although the account has reached its quota. */
export function createPendingQuotaProblem(): Problem {
  return new Problem('pending_quota_exceeded', { retryAfterS: QUOTA_RETRY_AFTER_S });
}

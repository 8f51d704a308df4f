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

/** Number of occurrences per statement: a statement blocks all requests on SQLite. */
const OCCURRENCES_PER_STATEMENT = 1_000;

/** Enqueues a pending delivery of each missed occurrence, except of those that have one. */
export async function enqueueMissed(write: AccountWrite, missed: MissedOccurrences): Promise<void> {
  let { firstPosition } = missed;
  for (;;) {
    const lastPosition = await findLastOfBatch(write, firstPosition);
    if (lastPosition === null) return;
    await buildEnqueueQuery(write, { ...missed, firstPosition }, lastPosition).execute();
    firstPosition = lastPosition + 1;
  }
}

/**
 * Returns the last position of the next batch of occurrences, or null if there are no more. Positions have gaps: after a
 * restored backup, they continue with far higher numbers.
 */
async function findLastOfBatch(write: AccountWrite, firstPosition: number): Promise<number | null> {
  const { queries } = AccountWrite.transactionOf(write);
  const batch = write
    .selectFrom('occurrences')
    .select('occurrences.position')
    .where('occurrences.position', '>=', firstPosition)
    .orderBy('occurrences.position')
    .limit(OCCURRENCES_PER_STATEMENT)
    .as('batch');
  const last = await queries
    .selectFrom(batch)
    .select(({ fn }) => fn.max('batch.position').as('position'))
    .executeTakeFirst();
  return last?.position ?? null;
}

/** Builds the query that enqueues deliveries of the missed occurrences in a range of feed positions. */
function buildEnqueueQuery(
  write: AccountWrite,
  { hookId, firstPosition, reportedCondition }: MissedOccurrences,
  lastPosition: number,
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
        .where('occurrences.position', '<=', lastPosition)
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

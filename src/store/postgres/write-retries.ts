import { Problem } from '../../problems.ts';
import { isConnectionLost, isTimeout, sqlStateOf } from './connection.ts';

/**
 * SQLSTATEs of errors that are retried: serialization failure, deadlock, unique and foreign key violations (a
 * concurrent transaction has just inserted or deleted the row; the retry sees it), a stale plan after a migration, and
 * lock timeout.
 */
const RETRYABLE_WRITE_SQLSTATES = ['40001', '40P01', '23505', '23503', '0A000', '55P03'];

/**
 * Why the transaction of a write was not committed:
 *
 * - `own_error`: the write threw an error, and no query failed.
 * - `own_query`: a query of the write failed, or a query of the transaction itself.
 * - `missing_lock`: the account lock of the write was not free.
 * - `other_member`: another write of the group failed.
 * - `commit`: the commit failed.
 */
export type FailureCause = 'own_error' | 'own_query' | 'missing_lock' | 'other_member' | 'commit';

/** How a write is retried: in a transaction of its own, or with other writes in a group. */
export type Retry = 'alone' | 'in_group';

/**
 * Decides whether and how a write is retried after its transaction was not committed. Undefined: it fails.
 *
 * | cause | error | it ran alone | it ran in a group |
 * | --- | --- | --- | --- |
 * | `own_error` | any | fails | fails |
 * | `own_query` | transient | alone | alone |
 * | `own_query` | another | fails | alone, so that it fails without the other writes |
 * | `missing_lock` | – | – (it waits for the lock) | alone |
 * | `other_member` | – | – | in a group |
 * | `commit` | transient | alone | alone |
 * | `commit` | lost connection, another | fails, because the outcome is unknown | fails |
 */
export function decideRetry(cause: FailureCause, error: unknown, isAlone: boolean): Retry | undefined {
  switch (cause) {
    case 'own_error':
      return undefined;
    case 'own_query':
      return isTransient(error) || !isAlone ? 'alone' : undefined;
    case 'missing_lock':
      return 'alone';
    case 'other_member':
      return 'in_group';
    case 'commit':
      return isTransient(error) && !isConnectionLost(error) ? 'alone' : undefined;
  }
}

/** Whether an immediate retry is likely to succeed. */
function isTransient(error: unknown): boolean {
  if (error instanceof Problem || isTimeout(error)) return false;
  return RETRYABLE_WRITE_SQLSTATES.includes(sqlStateOf(error) ?? '') || isConnectionLost(error);
}

import { sql } from 'kysely';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Secret } from '../transport/signature.ts';

/**
 * From now on notifications of a live hook are signed by these; by none when undefined. Once this is answered, no
 * attempt begins that is signed otherwise: the node that has the lane has heard of it by then.
 */
export async function setSecrets(
  write: AccountWrite,
  hookId: number,
  secrets: readonly Secret[] | undefined,
): Promise<void> {
  const { numUpdatedRows } = await write
    .updateTable('hooks')
    .set({
      secrets: secrets === undefined ? null : JSON.stringify(secrets),
      unacknowledged: sql<number>`case when lease_owner = 0 then 0 else 1 end`,
    })
    .where('hook_id', '=', hookId)
    .where('date_ended', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new Problem('hook_ended');
  AccountWrite.transactionOf(write).news.addChanged([hookId]);
}

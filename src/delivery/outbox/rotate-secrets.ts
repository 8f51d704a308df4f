import { sql } from 'kysely';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { SigningSecret } from '../transport/signature.ts';

/**
 * Sets the signing secrets of a live hook; undefined turns signing off. After the response to this write, no attempt
 * starts that is signed with other secrets: the response waits until the node that leases the hook has acknowledged the
 * change (X8).
 */
export async function setSigningSecrets(
  write: AccountWrite,
  hookId: number,
  secrets: readonly SigningSecret[] | undefined,
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
  AccountWrite.transactionOf(write).events.addChangedSecrets([hookId]);
}

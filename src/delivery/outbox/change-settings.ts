import { sql, type UpdateObject } from 'kysely';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';
import type { SigningSecret } from '../transport/signature.ts';

/** The columns of a live hook that its owner can change, besides what it subscribes to. */
type ChangedSettings = {
  readonly name?: string;
  readonly enabled?: number;
  /** Headers for the gateway of the target: a JSON object, or null. */
  readonly headers?: string | null;
  /** A new target: its failures begin at 0, and results of attempts to the old target do not change the hook any more. */
  readonly target?: string;
};

/**
 * Changes the settings of a live hook. After the response to this write, no attempt starts with the old settings: the
 * response waits until the node that leases the hook has acknowledged the change (X8, X13).
 */
export async function changeSettings(write: AccountWrite, hookId: number, settings: ChangedSettings): Promise<void> {
  await updateLiveHook(write, hookId, {
    ...settings,
    ...(settings.target === undefined
      ? {}
      : { failures: 0, due_at: null, retry_delivery_id: null, generation: sql<number>`generation + 1` }),
  });
  const { events } = AccountWrite.transactionOf(write);
  // A hook that was disabled may have pending deliveries and no queue.
  if (settings.enabled === 1) events.addPendingHooks([hookId]);
}

/** Sets the signing secrets of a live hook, as `changeSettings` does; undefined turns signing off. */
export async function setSigningSecrets(
  write: AccountWrite,
  hookId: number,
  secrets: readonly SigningSecret[] | undefined,
): Promise<void> {
  await updateLiveHook(write, hookId, { secrets: secrets === undefined ? null : JSON.stringify(secrets) });
}

type HookUpdate = UpdateObject<Tables, 'hooks'>;

async function updateLiveHook(write: AccountWrite, hookId: number, update: HookUpdate): Promise<void> {
  const { numUpdatedRows } = await write
    .updateTable('hooks')
    .set({ ...update, unacknowledged: sql<number>`case when lease_owner = 0 then 0 else 1 end` })
    .where('hook_id', '=', hookId)
    .where('date_ended', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new Problem('hook_ended');
  AccountWrite.transactionOf(write).events.addChangedSettings([hookId]);
}

import type { Caller } from '../../access.ts';
import { note } from '../../audit/actions.ts';
import { overlapsUntil, readSecrets, withNewSecret } from '../../delivery/signature.ts';
import { signBy } from '../../delivery/signing.ts';
import { showMoment } from '../../http/dates.ts';
import type { Created, Shown } from '../../http/field.ts';
import { notFound, Problem } from '../../problems.ts';
import { type Chance, newSigningSecret } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account.ts';
import { findReachable } from '../hooks/actions.ts';
import type { secretFields, secretInputFields } from './schema.ts';

/** X8: from now on notifications of the hook are signed by a new secret; those before it overlap for so long. */
export async function createSecret(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  { overlap }: Created<typeof secretInputFields>,
  chance: Chance,
): Promise<Shown<typeof secretFields>> {
  const hook = await getLive(write, caller, hookId);
  const { now } = write;
  const secret = newSigningSecret(chance);
  const secrets = withNewSecret(readSecrets(hook.secrets), { secret, now, overlapMs: overlap * 1_000 });
  await signBy(write, hookId, secrets);
  const previous_until = overlapsUntil(secrets, now);
  const detail = { user_id: String(hook.user_id), previous_until: showMoment(previous_until) };
  note(write, { action: 'hook.signed', subject: `hook ${hookId}`, detail });
  return { hook_id: hookId, secret, date_created: now, previous_until };
}

/** X8: from now on notifications of the hook are not signed. */
export async function deleteSecrets(write: AccountWrite, caller: Caller, hookId: number): Promise<void> {
  const hook = await getLive(write, caller, hookId);
  if (hook.secrets === null) throw notFound();
  await signBy(write, hookId, undefined);
  note(write, { action: 'hook.unsigned', subject: `hook ${hookId}`, detail: { user_id: String(hook.user_id) } });
}

/** A live hook of the caller, or any of the account for an admin. */
async function getLive(view: AccountView, caller: Caller, hookId: number) {
  const row = await findReachable(view, caller, hookId);
  if (row === undefined) throw notFound();
  if (row.date_ended !== null) throw new Problem('hook_ended');
  return row;
}

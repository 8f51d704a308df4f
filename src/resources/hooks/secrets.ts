import { writeAuditEntries } from '../../audit/actions.ts';
import { setSigningSecrets } from '../../delivery/outbox/change-settings.ts';
import { addSecret, findOverlapEnd, parseSecrets } from '../../delivery/transport/signature.ts';
import { formatTimestamp, readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { CreationInput, StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId } from '../../http/fields/reference-fields.ts';
import { integer, oneTimeSecret } from '../../http/fields/scalar-fields.ts';
import { defineCreateRoute, defineDeleteRoute } from '../../http/routes/define-routes.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Caller } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { newSigningSecret, type Random } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { findAccessibleHook } from './read-hooks.ts';

const DAY_S = 24 * 3_600;

/** Maximum time, in seconds, for which previous secrets may still sign in addition to a new secret. */
const MAX_OVERLAP_S = 7 * DAY_S;

/** Response fields of a new secret. No other response contains the secret (X8). */
const secretFields = {
  hook_id: ownRecordId('Identifier of the hook.'),
  secret: oneTimeSecret('The secret: whsec_ and base64. It is returned only once.'),
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  previous_until: readOnlyTimestamp('Until when the previous secret also signs, UTC.'),
};

/** Input fields of a new secret. */
const secretInputFields = {
  overlap: {
    ...integer('For how many seconds the previous secret also signs. Default: one day.', MAX_OVERLAP_S),
    default: DAY_S,
  },
};

/** Creates a secret that signs the hook's deliveries (X8). Previous secrets also sign for `overlap` more seconds. */
async function createSecret(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  { overlap }: CreationInput<typeof secretInputFields>,
  random: Random,
): Promise<StoredRecordOf<typeof secretFields>> {
  const hook = await getLiveHook(write, caller, hookId);
  const { now } = write;
  const secret = newSigningSecret(random);
  const secrets = addSecret(parseSecrets(hook.secrets), { secret, now, overlapMs: overlap * 1_000 });
  await setSigningSecrets(write, hookId, secrets);
  const previous_until = findOverlapEnd(secrets, now);
  const detail = { user_id: String(hook.user_id), previous_until: formatTimestamp(previous_until) };
  writeAuditEntries(write, { action: 'hook.signed', subject: `hook ${hookId}`, detail });
  return { hook_id: hookId, secret, date_created: now, previous_until };
}

/** Deletes the secrets of a hook. Its deliveries are then no longer signed (X8). */
async function deleteSecrets(write: AccountWrite, caller: Caller, hookId: number): Promise<void> {
  const hook = await getLiveHook(write, caller, hookId);
  if (hook.secrets === null) throw notFound();
  await setSigningSecrets(write, hookId, undefined);
  writeAuditEntries(write, {
    action: 'hook.unsigned',
    subject: `hook ${hookId}`,
    detail: { user_id: String(hook.user_id) },
  });
}

/**
 * Returns a live hook of the caller; admins can access any live hook of the account. Throws 404 if the id is unknown,
 * and 409 if the hook has ended.
 */
async function getLiveHook(view: AccountView, caller: Caller, hookId: number) {
  const row = await findAccessibleHook(view, caller, hookId);
  if (row === undefined) throw notFound();
  if (row.date_ended !== null) throw new Problem('hook_ended');
  return row;
}

export function createSecretRoutes({ random }: { random: Random }): readonly Route[] {
  return [
    defineCreateRoute({
      path: '/hooks/{hook_id}/secret',
      description: 'Creates a signing secret for a hook, which replaces the previous one. It is returned only once.',
      permission: 'hooks:write',
      fields: secretFields,
      inputFields: secretInputFields,
      recordedKinds: [],
      lockMode: 'exclusive',
      problems: ['hook_ended'],
      location: { collectionPath: '/hooks', idField: 'hook_id' },
      handle: (write, caller, input, ids) => createSecret(write, caller, ids.hook_id, input, random),
    }),
    defineDeleteRoute({
      path: '/hooks/{hook_id}/secret',
      description: 'Deletes the signing secrets of a hook. After the response no new attempt is signed.',
      permission: 'hooks:write',
      recordedKinds: [],
      problems: ['hook_ended'],
      handle: (write, caller, ids) => deleteSecrets(write, caller, ids.hook_id),
    }),
  ];
}

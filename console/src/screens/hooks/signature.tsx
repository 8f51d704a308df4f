import { useState } from 'preact/hooks';
import type { Hook, HookSecret } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { runWithToast, useSubmission } from '../../app/use-query.ts';
import type { ApiCallExample } from '../../components/api-call.tsx';
import { Badge, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { Select } from '../../components/field.tsx';
import { RevealSecretDialog } from '../../components/reveal-secret.tsx';
import { parseTimestamp, RelativeTime } from '../../components/timestamp.tsx';

type SignatureSectionProps = { readonly hook: Hook; readonly onChanged: () => void };

/** Section that turns the signing of a hook's webhooks on or off, and rotates the secret. */
export function SignatureSection({ hook, onChanged }: SignatureSectionProps) {
  const [shownDialog, setShownDialog] = useState<'rotate' | 'off'>();
  const [newSecret, setNewSecret] = useState<HookSecret>();
  const closeDialog = () => setShownDialog(undefined);
  const showNewSecret = (secret: HookSecret) => {
    setNewSecret(secret);
    closeDialog();
    onChanged();
  };
  return (
    <section class="card padded stack" aria-label="Signature">
      <div class="row spread">
        <h2>Signature</h2>
        {hook.state !== 'ended' && (
          <div class="row">
            {hook.signed === '0' ? (
              <Button
                icon="key"
                onClick={() => runWithToast(async () => showNewSecret(await client.hooks.createSecret(hook.id)))}
              >
                Sign notifications
              </Button>
            ) : (
              <>
                <Button icon="key" onClick={() => setShownDialog('rotate')}>
                  Rotate
                </Button>
                <Button variant="danger" onClick={() => setShownDialog('off')}>
                  Turn off
                </Button>
              </>
            )}
          </div>
        )}
      </div>
      <SignatureState hook={hook} />
      {shownDialog === 'rotate' && <RotateSecretDialog hook={hook} onCreated={showNewSecret} onClose={closeDialog} />}
      {shownDialog === 'off' && (
        <ConfirmDialog
          title="Sign notifications no more?"
          confirmLabel="Turn off"
          onClose={closeDialog}
          onConfirm={() => void runWithToast(() => client.hooks.deleteSecret(hook.id), 'Turned off.').then(onChanged)}
        >
          A receiver that checks signatures refuses what comes without one. Its secrets are forgotten; to sign again, a
          new one is made.
        </ConfirmDialog>
      )}
      {newSecret !== undefined && <ShowNewSecretDialog newSecret={newSecret} onClose={() => setNewSecret(undefined)} />}
    </section>
  );
}

function SignatureState({ hook }: Pick<SignatureSectionProps, 'hook'>) {
  if (hook.signed === '0') {
    return (
      <p class="soft">
        Off. With a signature a receiver can tell at once that a notification comes from here, by any library of
        Standard Webhooks.
      </p>
    );
  }
  return (
    <p>
      <Badge tone="good">on</Badge> By a secret that was made <RelativeTime timestamp={hook.secret_created} />.{' '}
      {parseTimestamp(hook.secret_previous_until) !== undefined && (
        <>
          The one before it signs, too, and ends <RelativeTime timestamp={hook.secret_previous_until} />.
        </>
      )}
    </p>
  );
}

/** How many seconds the previous secret goes on signing after a rotation. */
const overlapOptions = [
  { value: '86400', text: 'a day' },
  { value: '604800', text: 'a week' },
  { value: '3600', text: 'an hour' },
  { value: '0', text: 'not at all' },
] as const;

type RotateSecretProps = {
  readonly hook: Hook;
  readonly onCreated: (newSecret: HookSecret) => void;
  readonly onClose: () => void;
};

function RotateSecretDialog({ hook, onCreated, onClose }: RotateSecretProps) {
  const [overlapSeconds, setOverlapSeconds] = useState<(typeof overlapOptions)[number]['value']>('86400');
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    onCreated(await client.hooks.createSecret(hook.id, { overlap: overlapSeconds }));
  });
  return (
    <Dialog title="Rotate the secret" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
        <Select
          label="The present secret goes on signing"
          value={overlapSeconds}
          options={overlapOptions}
          onChange={setOverlapSeconds}
          errorText={errorsByField.overlap}
          hint={
            overlapSeconds === '0'
              ? 'For a secret that leaked. A receiver that has no other refuses what comes.'
              : 'Beside the new one, so that the receiver can change over meanwhile.'
          }
        />
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={isBusy}>
            Make a new secret
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function ShowNewSecretDialog({ newSecret, onClose }: { readonly newSecret: HookSecret; readonly onClose: () => void }) {
  return (
    <RevealSecretDialog
      title="The secret of this hook"
      label="The secret"
      secret={newSecret.secret}
      warning="Copy it now. It is shown this once."
      isWide
      onClose={onClose}
    >
      <p class="soft">
        Give it to the receiver. It signs <code>webhook-id</code>, <code>webhook-timestamp</code> and the body, in{' '}
        <code>webhook-signature</code>.
      </p>
    </RevealSecretDialog>
  );
}

/** Returns the API calls that turn signing on or off and rotate the secret, to show to the user. */
export function apiCallsForSignature({ id, signed }: Hook): readonly ApiCallExample[] {
  const path = `/hooks/${id}/secret`;
  const body = { overlap: Number(overlapOptions[0].value) };
  if (signed === '0') {
    return [
      { description: 'Sign its notifications', method: 'POST', path, body: {}, sdk: `hooks.createSecret('${id}')` },
    ];
  }
  return [
    {
      description: 'Rotate its secret',
      method: 'POST',
      path,
      body,
      sdk: `hooks.createSecret('${id}', ${JSON.stringify(body)})`,
    },
    { description: 'Sign its notifications no more', method: 'DELETE', path, sdk: `hooks.deleteSecret('${id}')` },
  ];
}

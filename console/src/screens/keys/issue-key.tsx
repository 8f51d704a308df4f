import { useState } from 'preact/hooks';
import type { IssuedKey } from '../../../../packages/sdk/src/keys.ts';
import type { User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { displayNameOf, requireSession } from '../../app/session.ts';
import { useSubmission } from '../../app/use-query.ts';
import { apiAccount, CodeBlock, quoteForShell } from '../../components/api-call.tsx';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { RevealSecretDialog } from '../../components/reveal-secret.tsx';
import { maxPermissionsOf, PermissionGrid } from './permission-grid.tsx';

const lifetimeOptions = [
  { value: '30d', text: '30 days' },
  { value: '90d', text: '90 days' },
  { value: '365d', text: 'a year' },
  { value: '', text: 'without an end' },
  { value: 'other', text: 'as I say…' },
] as const;

type LifetimeOption = (typeof lifetimeOptions)[number]['value'];

type IssueKeyProps = {
  /** Users to whom the current user may issue keys. */
  readonly people: readonly User[];
  readonly onIssued: () => void;
  readonly onClose: () => void;
};

/** Dialog that issues a key and shows it once. The key is kept only in the state of the dialog. */
export function IssueKeyDialog({ people, onIssued, onClose }: IssueKeyProps) {
  const [issuedKey, setIssuedKey] = useState<IssuedKey>();
  if (issuedKey !== undefined) return <ShowNewKeyDialog issuedKey={issuedKey} onClose={onClose} />;
  return (
    <Dialog title="Issue a key" isWide onClose={onClose}>
      <IssueKeyForm
        people={people}
        onClose={onClose}
        onIssued={(key) => {
          setIssuedKey(key);
          onIssued();
        }}
      />
    </Dialog>
  );
}

type IssueKeyFormProps = Pick<IssueKeyProps, 'people' | 'onClose'> & { readonly onIssued: (key: IssuedKey) => void };

function IssueKeyForm({ people, onIssued, onClose }: IssueKeyFormProps) {
  const [label, setLabel] = useState('');
  const [userId, setUserId] = useState(requireSession().user.user_id);
  const [lifetime, setLifetime] = useState<LifetimeOption>('90d');
  const [customLifetime, setCustomLifetime] = useState('');
  const keyOwner = people.find(({ user_id }) => user_id === userId) ?? requireSession().user;
  const allowedPermissions = maxPermissionsOf(keyOwner.role);
  // Least privilege: by default, only read permissions are selected.
  const [selectedPermissions, setSelectedPermissions] = useState<typeof allowedPermissions>(
    allowedPermissions.filter((permission) => permission.endsWith(':read')),
  );
  const permissions = allowedPermissions.filter((permission) => selectedPermissions.includes(permission));
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    const expires = lifetime === 'other' ? customLifetime.trim() : lifetime;
    onIssued(await client.keys.create({ label, permissions, user_id: userId, expires }));
  });
  return (
    <form class="stack" onSubmit={submit}>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      <TextField
        label="What it is for"
        placeholder="Release bot"
        value={label}
        onInput={setLabel}
        autoFocus
        autoComplete="off"
        maxLength={255}
        errorText={errorsByField.label}
        hint="So that you know later which program stops when you revoke it."
      />
      <div class="pair">
        {people.length > 1 && (
          <Select
            label="Whose key"
            value={userId}
            options={people.map((user) => ({ value: user.user_id, text: displayNameOf(user) }))}
            onChange={setUserId}
            errorText={errorsByField.user_id}
            hint="What it creates is theirs, and their hooks are told."
          />
        )}
        <Select
          label="It works for"
          value={lifetime}
          options={lifetimeOptions}
          onChange={setLifetime}
          hint={lifetime === '' ? 'Until somebody revokes it.' : 'Then it ends by itself.'}
        />
        {lifetime === 'other' && (
          <TextField
            label="How long"
            placeholder="12h"
            value={customLifetime}
            onInput={setCustomLifetime}
            required
            errorText={errorsByField.expires}
            hint="12h, 45d, or a moment in UTC: 2027-01-31 18:00:00"
          />
        )}
      </div>
      <PermissionGrid
        selectedPermissions={permissions}
        allowedPermissions={allowedPermissions}
        onChange={setSelectedPermissions}
      />
      {keyOwner.role === 'member' && (
        <p class="small soft">
          A member’s key can change neither people nor the account: no key is wider than its user.
        </p>
      )}
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="primary" type="submit" disabled={isBusy || permissions.length === 0}>
          {isBusy ? 'Issuing…' : 'Issue the key'}
        </Button>
      </div>
    </form>
  );
}

function ShowNewKeyDialog({ issuedKey, onClose }: { issuedKey: IssuedKey; onClose: () => void }) {
  const exampleCommand = [
    `curl ${quoteForShell(`${apiAccount.baseUrl}/v2/user`)}`,
    `-H ${quoteForShell(`domain: ${apiAccount.domain}`)}`,
    `-H ${quoteForShell(`key: ${issuedKey.key}`)}`,
  ].join(' \\\n  ');
  return (
    <RevealSecretDialog
      title={`Your new key${issuedKey.label === '' ? '' : `: ${issuedKey.label}`}`}
      label="The key"
      secret={issuedKey.key}
      warning="Copy it now. It is shown this once: the service keeps a hash of it, and nobody can read it again."
      isWide
      onClose={onClose}
    >
      <p class="soft">Try it. It answers whose key it is:</p>
      <CodeBlock label="A call with the key" text={exampleCommand} />
    </RevealSecretDialog>
  );
}

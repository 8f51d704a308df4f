import { useState } from 'preact/hooks';
import type { IssuedInvitation, Role, User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { requireSession, session } from '../../app/session.ts';
import { runWithToast, useSubmission } from '../../app/use-query.ts';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { showToast } from '../../components/toast.tsx';
import { ShowInvitationLinkDialog } from './link.tsx';

const roleOptions: readonly { readonly value: Role; readonly text: string; readonly description: string }[] = [
  { value: 'member', text: 'Member', description: 'Sees and changes every record; hooks and keys are their own.' },
  { value: 'admin', text: 'Admin', description: 'Also adds people, issues keys to them, and sees everybody’s hooks.' },
  { value: 'owner', text: 'Owner', description: 'As an admin, and nobody but an owner can change or delete one.' },
];

type PersonValues = {
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly role: Role;
};

type PersonFormProps = {
  readonly initialValues: PersonValues;
  readonly submitLabel: string;
  readonly isLastOwner?: boolean;
  readonly onSave: (values: PersonValues) => Promise<void>;
  readonly onClose: () => void;
};

/** Form for name, email and role of a user. */
function PersonForm({ initialValues, submitLabel, isLastOwner = false, onSave, onClose }: PersonFormProps) {
  const [values, setValues] = useState(initialValues);
  const createFieldSetter = (name: keyof PersonValues) => (value: string) => setValues({ ...values, [name]: value });
  const { submit, isBusy, errorsByField, errorText } = useSubmission(() => onSave(values));
  // Only an owner can assign the role `owner`.
  const assignableRoles = roleOptions.filter(
    ({ value }) => value !== 'owner' || requireSession().user.role === 'owner',
  );
  const roleHint = isLastOwner
    ? 'The last owner stays one. Make somebody else an owner first.'
    : roleOptions.find(({ value }) => value === values.role)?.description;
  return (
    <form class="stack" onSubmit={submit}>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      <TextField
        label="Email"
        type="email"
        autoComplete="off"
        required
        autoFocus
        value={values.email}
        onInput={createFieldSetter('email')}
        errorText={errorsByField.email}
        hint="They sign in with it. The service sends nothing there: the link goes through you."
      />
      <div class="pair">
        <TextField
          label="First name"
          autoComplete="off"
          value={values.first_name}
          onInput={createFieldSetter('first_name')}
          errorText={errorsByField.first_name}
        />
        <TextField
          label="Last name"
          autoComplete="off"
          value={values.last_name}
          onInput={createFieldSetter('last_name')}
          errorText={errorsByField.last_name}
        />
      </div>
      <Select
        label="Role"
        value={values.role}
        options={assignableRoles}
        disabled={isLastOwner}
        onChange={(role) => setValues({ ...values, role })}
        errorText={errorsByField.role}
        hint={roleHint}
      />
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="primary" type="submit" disabled={isBusy}>
          {submitLabel}
        </Button>
      </div>
    </form>
  );
}

/** Dialog that creates a user and an invitation link, and then shows the link. */
export function AddPersonDialog({
  onChanged,
  onClose,
}: {
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const [createdInvitation, setCreatedInvitation] = useState<{ person: User; invitation: IssuedInvitation }>();
  if (createdInvitation !== undefined) return <ShowInvitationLinkDialog {...createdInvitation} onClose={onClose} />;
  return (
    <Dialog title="Add somebody" onClose={onClose}>
      <PersonForm
        initialValues={{ email: '', first_name: '', last_name: '', role: 'member' }}
        submitLabel="Add, and make a link"
        onClose={onClose}
        onSave={async (values) => {
          const person = await client.users.create(values);
          // If creating the link fails, close the dialog: the user exists, and the menu of its row can create a link.
          const isLinkCreated = await runWithToast(async () =>
            setCreatedInvitation({ person, invitation: await client.invitations.create({ user_id: person.user_id }) }),
          );
          if (!isLinkCreated) onClose();
          onChanged();
        }}
      />
    </Dialog>
  );
}

type ChangePersonDialogProps = {
  readonly person: User;
  /** Whether the account has only one owner. */
  readonly isLastOwner: boolean;
  readonly onChanged: () => void;
  readonly onClose: () => void;
};

/** Dialog that changes name, email or role of a user. */
export function ChangePersonDialog({ person, isLastOwner, onChanged, onClose }: ChangePersonDialogProps) {
  const { email, first_name, last_name, role } = person;
  const previousValues: PersonValues = { email, first_name, last_name, role };
  const saveChanges = async (values: PersonValues) => {
    const updatedUser = await client.users.update(person.user_id, values);
    const { user, company } = requireSession();
    if (user.user_id === updatedUser.user_id) session.value = { user: updatedUser, company };
    onChanged();
  };
  return (
    <Dialog title="Change somebody" onClose={onClose}>
      <PersonForm
        initialValues={previousValues}
        submitLabel="Save"
        isLastOwner={isLastOwner && role === 'owner'}
        onClose={onClose}
        onSave={async (values) => {
          await saveChanges(values);
          showToast('Saved.', { undo: () => void runWithToast(() => saveChanges(previousValues), 'As it was.') });
          onClose();
        }}
      />
    </Dialog>
  );
}

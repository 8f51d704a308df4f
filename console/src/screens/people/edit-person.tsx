import { useState } from 'preact/hooks';
import type { IssuedInvitation } from '../../../../packages/sdk/src/invitations.ts';
import type { Role, User } from '../../../../packages/sdk/src/users.ts';
import { client } from '../../app/client.ts';
import { me, session } from '../../app/session.ts';
import { attempt, useSubmission } from '../../app/use-query.ts';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { tell } from '../../components/toast.tsx';
import { ShownLink } from './link.tsx';

const roles: readonly { readonly value: Role; readonly text: string; readonly says: string }[] = [
  { value: 'member', text: 'Member', says: 'Sees and changes every record; hooks and keys are their own.' },
  { value: 'admin', text: 'Admin', says: 'Also adds people, issues keys to them, and sees everybody’s hooks.' },
  { value: 'owner', text: 'Owner', says: 'As an admin, and nobody but an owner can change or delete one.' },
];

type Written = { readonly email: string; readonly first_name: string; readonly last_name: string; readonly role: Role };

type FormProps = {
  readonly before: Written;
  readonly yes: string;
  readonly isLastOwner?: boolean;
  readonly save: (written: Written) => Promise<void>;
  readonly onClose: () => void;
};

/** Who somebody is, and what they may do. */
function PersonForm({ before, yes, isLastOwner = false, save, onClose }: FormProps) {
  const [written, setWritten] = useState(before);
  const write = (name: keyof Written) => (value: string) => setWritten({ ...written, [name]: value });
  const { submit, isBusy, faults, fault } = useSubmission(() => save(written));
  // A role above one's own is not one's to give.
  const given = roles.filter(({ value }) => value !== 'owner' || me().user.role === 'owner');
  const hint = isLastOwner
    ? 'The last owner stays one. Make somebody else an owner first.'
    : roles.find(({ value }) => value === written.role)?.says;
  return (
    <form class="stack" onSubmit={submit}>
      {fault !== undefined && <Note tone="bad">{fault}</Note>}
      <TextField
        label="Email"
        type="email"
        autoComplete="off"
        required
        autoFocus
        value={written.email}
        onInput={write('email')}
        fault={faults.email}
        hint="They sign in with it. The service sends nothing there: the link goes through you."
      />
      <div class="pair">
        <TextField
          label="First name"
          autoComplete="off"
          value={written.first_name}
          onInput={write('first_name')}
          fault={faults.first_name}
        />
        <TextField
          label="Last name"
          autoComplete="off"
          value={written.last_name}
          onInput={write('last_name')}
          fault={faults.last_name}
        />
      </div>
      <Select
        label="Role"
        value={written.role}
        options={given}
        disabled={isLastOwner}
        onChange={(role) => setWritten({ ...written, role })}
        fault={faults.role}
        hint={hint}
      />
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={isBusy}>
          {yes}
        </Button>
      </div>
    </form>
  );
}

/** Adds somebody and makes the link by which they get in. */
export function AddPerson({ onDone, onClose }: { readonly onDone: () => void; readonly onClose: () => void }) {
  const [made, setMade] = useState<{ person: User; link: IssuedInvitation }>();
  if (made !== undefined) return <ShownLink {...made} onClose={onClose} />;
  return (
    <Dialog title="Add somebody" onClose={onClose}>
      <PersonForm
        before={{ email: '', first_name: '', last_name: '', role: 'member' }}
        yes="Add, and make a link"
        onClose={onClose}
        save={async (written) => {
          const person = await client.users.create(written);
          // They are there now, whatever becomes of the link: the menu makes another one.
          const isMade = await attempt(async () =>
            setMade({ person, link: await client.invitations.create({ user_id: person.user_id }) }),
          );
          if (!isMade) onClose();
          onDone();
        }}
      />
    </Dialog>
  );
}

type ChangeProps = {
  readonly person: User;
  /** Whether there is one owner alone. */
  readonly isLastOwner: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
};

/** Changes somebody's name, address or role. */
export function ChangePerson({ person, isLastOwner, onDone, onClose }: ChangeProps) {
  const { email, first_name, last_name, role } = person;
  const before: Written = { email, first_name, last_name, role };
  const change = async (written: Written) => {
    const changed = await client.users.update(person.user_id, written);
    const { user, company } = me();
    if (user.user_id === changed.user_id) session.value = { user: changed, company };
    onDone();
  };
  return (
    <Dialog title="Change somebody" onClose={onClose}>
      <PersonForm
        before={before}
        yes="Save"
        isLastOwner={isLastOwner && role === 'owner'}
        onClose={onClose}
        save={async (written) => {
          await change(written);
          tell('Saved.', { undo: () => void attempt(() => change(before), 'As it was.') });
          onClose();
        }}
      />
    </Dialog>
  );
}

import { useState } from 'preact/hooks';
import type { IssuedInvitation, User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { displayNameOf } from '../../app/session.ts';
import { runWithToast } from '../../app/use-query.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RevealSecretDialog } from '../../components/reveal-secret.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';

type IssueLinkDialogProps = { readonly person: User; readonly onCreated: () => void; readonly onClose: () => void };

/** Dialog that creates a one-time link for setting a passphrase, and shows the link once. */
export function CreateInvitationLinkDialog({ person, onCreated, onClose }: IssueLinkDialogProps) {
  const [invitation, setInvitation] = useState<IssuedInvitation>();
  const [isBusy, setBusy] = useState(false);
  if (invitation !== undefined)
    return <ShowInvitationLinkDialog invitation={invitation} person={person} onClose={onClose} />;
  const createLink = async () => {
    setBusy(true);
    await runWithToast(async () => setInvitation(await client.invitations.create({ user_id: person.user_id })));
    setBusy(false);
    onCreated();
  };
  return (
    <Dialog title={`A new link for ${displayNameOf(person)}`} onClose={onClose}>
      <p>
        Whoever opens the link sets the passphrase of {displayNameOf(person)} and is signed in. Until then the present
        one goes on; then it is replaced, and every session of theirs ends. Earlier links lead nowhere from now on.
      </p>
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="primary" disabled={isBusy} onClick={createLink}>
          {isBusy ? 'Making…' : 'Make the link'}
        </Button>
      </div>
    </Dialog>
  );
}

type InvitationLinkDialogProps = {
  readonly invitation: IssuedInvitation;
  readonly person: User;
  readonly onClose: () => void;
};

/** Dialog that shows a one-time link. The link cannot be shown again. */
export function ShowInvitationLinkDialog({ invitation, person, onClose }: InvitationLinkDialogProps) {
  return (
    <RevealSecretDialog
      title={`The link for ${displayNameOf(person)}`}
      label="The link"
      secret={invitation.link}
      warning={`Copy it now, it is shown this once. Whoever has it gets in as ${displayNameOf(person)}: send it to nobody else.`}
      onClose={onClose}
    >
      <p class="small soft">
        It works once, and ends <RelativeTime timestamp={invitation.expires} />.
      </p>
    </RevealSecretDialog>
  );
}

import { useState } from 'preact/hooks';
import type { Invitation, User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { displayNameOf, isAdmin, requireSession, roleTones } from '../../app/session.ts';
import { collectAll, runWithToast, useQuery } from '../../app/use-query.ts';
import { SessionList } from '../../auth/session-list.tsx';
import type { ApiCallExample } from '../../components/api-call.tsx';
import { Badge, InitialsAvatar, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { Menu, type MenuItem } from '../../components/menu.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { AddPersonDialog, ChangePersonDialog } from './edit-person.tsx';
import { CreateInvitationLinkDialog } from './link.tsx';

type DialogState =
  | { readonly dialogName: 'add' }
  | { readonly dialogName: 'change' | 'link' | 'sessions' | 'delete'; readonly person: User };

/** Screen with the users of the account: roles, invitation links and sessions. For admins only. */
export default function PeopleScreen() {
  return isAdmin() ? <PeopleList /> : <AdminsOnly />;
}

/** Shown to members who open the screen by URL. */
function AdminsOnly() {
  return (
    <Page title="People" calls={[]}>
      <Note>Who belongs to the account is for its admins to see and change here. Ask one of them.</Note>
    </Page>
  );
}

function PeopleList() {
  const peopleQuery = useQuery((signal) => collectAll(client.users.each({}, { signal })), []);
  const invitationsQuery = useQuery((signal) => collectAll(client.invitations.each({}, { signal })), []);
  const [shownDialog, setShownDialog] = useState<DialogState>();
  const closeDialog = () => setShownDialog(undefined);
  const reloadPeople = () => {
    peopleQuery.reload();
    invitationsQuery.reload();
  };
  const ownerCount = peopleQuery.data?.filter(({ role }) => role === 'owner').length ?? 0;
  return (
    <Page
      title="People"
      intro="Members work with every record of the account. Admins also add people, and see the hooks and keys of all."
      calls={apiCallsFor(peopleQuery.data?.findLast(({ user_id }) => user_id !== requireSession().user.user_id))}
      actions={
        <Button variant="primary" icon="plus" onClick={() => setShownDialog({ dialogName: 'add' })}>
          Add somebody
        </Button>
      }
    >
      {peopleQuery.errorText !== undefined && <Note tone="bad">{peopleQuery.errorText}</Note>}
      {peopleQuery.data === undefined && peopleQuery.errorText === undefined && <LoadingSkeleton />}
      {peopleQuery.data !== undefined && (
        <ul class="card list" aria-label="People">
          {peopleQuery.data.map((person) => (
            <PersonRow
              key={person.user_id}
              person={person}
              invitation={invitationsQuery.data?.find(({ user_id }) => user_id === person.user_id)}
              onOpen={(dialogName) => setShownDialog({ dialogName, person })}
              onWithdraw={async (invitation) => {
                await runWithToast(
                  () => client.invitations.withdraw(invitation.id),
                  'Withdrawn. The link leads nowhere any more.',
                );
                invitationsQuery.reload();
              }}
            />
          ))}
        </ul>
      )}
      {peopleQuery.data?.length === 1 && (
        <p class="soft">
          You are alone here. Add somebody: they get a link, choose a passphrase, and see the same calendar.
        </p>
      )}
      {shownDialog?.dialogName === 'add' && <AddPersonDialog onChanged={reloadPeople} onClose={closeDialog} />}
      {shownDialog?.dialogName === 'link' && (
        <CreateInvitationLinkDialog
          person={shownDialog.person}
          onCreated={invitationsQuery.reload}
          onClose={closeDialog}
        />
      )}
      {shownDialog?.dialogName === 'change' && (
        <ChangePersonDialog
          person={shownDialog.person}
          isLastOwner={ownerCount < 2}
          onChanged={reloadPeople}
          onClose={closeDialog}
        />
      )}
      {shownDialog?.dialogName === 'sessions' && (
        <Dialog title={`Where ${displayNameOf(shownDialog.person)} is signed in`} onClose={closeDialog}>
          <SessionList userId={shownDialog.person.user_id} />
        </Dialog>
      )}
      {shownDialog?.dialogName === 'delete' && (
        <DeletePersonDialog person={shownDialog.person} onChanged={reloadPeople} onClose={closeDialog} />
      )}
    </Page>
  );
}

type PersonRowProps = {
  readonly person: User;
  /** The unused invitation link of this user, if there is one. */
  readonly invitation: Invitation | undefined;
  readonly onOpen: (dialogName: Exclude<DialogState['dialogName'], 'add'>) => void;
  readonly onWithdraw: (invitation: Invitation) => void;
};

function PersonRow({ person, invitation, onOpen, onWithdraw }: PersonRowProps) {
  const { user } = requireSession();
  const hasHigherRole = person.role === 'owner' && user.role !== 'owner';
  const isCurrentUser = person.user_id === user.user_id;
  const menuItems: readonly MenuItem[] = [
    { text: 'Change…', icon: 'pencil', onPick: () => onOpen('change') },
    { text: 'New link…', icon: 'key', onPick: () => onOpen('link') },
    ...(invitation === undefined
      ? []
      : [{ text: 'Withdraw the link', icon: 'undo', onPick: () => onWithdraw(invitation) } as const]),
    { text: 'Sessions…', icon: 'clock', onPick: () => onOpen('sessions') },
    { text: 'Delete…', icon: 'trash', isDestructive: true, onPick: () => onOpen('delete') },
  ];
  return (
    <li>
      <InitialsAvatar name={displayNameOf(person)} />
      <div class="grow">
        <div class="row">
          <strong>{displayNameOf(person)}</strong>
          <Badge tone={roleTones[person.role]}>{person.role}</Badge>
          {isCurrentUser && <span class="small soft">you</span>}
        </div>
        <p class="small soft">{person.email}</p>
      </div>
      <div class="asides">
        <span>Added</span>
        <RelativeTime timestamp={person.date_created} />
        {invitation !== undefined && (
          <>
            <span>Link open, ends</span>
            <RelativeTime timestamp={invitation.expires} />
          </>
        )}
      </div>
      {hasHigherRole ? (
        <span class="small soft">above you</span>
      ) : (
        <Menu label={`What to do with ${displayNameOf(person)}`} items={menuItems} />
      )}
    </li>
  );
}

type DeletePersonProps = { readonly person: User; readonly onChanged: () => void; readonly onClose: () => void };

function DeletePersonDialog({ person, onChanged, onClose }: DeletePersonProps) {
  return (
    <ConfirmDialog
      title={`Delete ${displayNameOf(person)}?`}
      confirmLabel="Delete"
      onClose={onClose}
      onConfirm={async () => {
        await runWithToast(
          () => client.users.delete(person.user_id),
          `${displayNameOf(person)} is gone, the records are here.`,
        );
        onChanged();
      }}
    >
      <ul class="bullets">
        <li>They are signed out everywhere, and their links lead nowhere.</li>
        <li>Their keys are revoked: programs that call with them are refused.</li>
        <li>Their hooks end: nobody is told through them any more.</li>
        <li>What they created stays: events, projects, tasks, clients.</li>
      </ul>
      <p>This cannot be taken back.</p>
    </ConfirmDialog>
  );
}

const examplePerson = { email: 'ada@acme.example', first_name: 'Ada', role: 'member' };

/** Returns the API calls of the screen. The caller passes the newest other user as an example, if there is one. */
function apiCallsFor(exampleUser: User | undefined): readonly ApiCallExample[] {
  const exampleUserId = exampleUser?.user_id;
  return [
    { description: 'List the people', method: 'GET', path: '/users', sdk: 'users.list()' },
    {
      description: 'Add somebody',
      method: 'POST',
      path: '/users',
      body: examplePerson,
      sdk: `users.create(${JSON.stringify(examplePerson)})`,
    },
    ...(exampleUser === undefined
      ? []
      : ([
          {
            description: `Make ${displayNameOf(exampleUser)} an admin`,
            method: 'PUT',
            path: `/users/${exampleUserId}`,
            body: { role: 'admin' },
            sdk: `users.update('${exampleUserId}', { role: 'admin' })`,
          },
          {
            description: `Delete ${displayNameOf(exampleUser)}`,
            method: 'DELETE',
            path: `/users/${exampleUserId}`,
            sdk: `users.delete('${exampleUserId}')`,
          },
        ] as const)),
  ];
}

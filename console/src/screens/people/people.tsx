import { useState } from 'preact/hooks';
import type { Invitation, User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { currentSession, isAdmin } from '../../app/session.ts';
import { collectAll, runWithToast, useQuery } from '../../app/use-query.ts';
import { displayNameOf, roleTones } from '../../app/user-name.ts';
import { SessionList } from '../../auth/session-list.tsx';
import type { ApiCall } from '../../components/api-call.tsx';
import { Badge, Initials, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { Menu, type MenuItem } from '../../components/menu.tsx';
import { Page } from '../../components/page.tsx';
import { Timestamp } from '../../components/timestamp.tsx';
import { AddPerson, ChangePerson } from './edit-person.tsx';
import { IssueLink } from './link.tsx';

type OpenDialog =
  | { readonly what: 'add' }
  | { readonly what: 'change' | 'link' | 'sessions' | 'delete'; readonly person: User };

/** Screen with the users of the account: roles, invitation links and sessions. For admins only. */
export default function People() {
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
  const people = useQuery((signal) => collectAll(client.users.each({}, { signal })), []);
  const links = useQuery((signal) => collectAll(client.invitations.each({}, { signal })), []);
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => setOpen(undefined);
  const reload = () => {
    people.reload();
    links.reload();
  };
  const owners = people.data?.filter(({ role }) => role === 'owner').length ?? 0;
  return (
    <Page
      title="People"
      lead="Members work with every record of the account. Admins also add people, and see the hooks and keys of all."
      calls={apiCallsFor(people.data?.findLast(({ user_id }) => user_id !== currentSession().user.user_id))}
      actions={
        <Button variant="primary" icon="plus" onClick={() => setOpen({ what: 'add' })}>
          Add somebody
        </Button>
      }
    >
      {people.fault !== undefined && <Note tone="bad">{people.fault}</Note>}
      {people.data === undefined && people.fault === undefined && <LoadingSkeleton />}
      {people.data !== undefined && (
        <ul class="card list" aria-label="People">
          {people.data.map((person) => (
            <PersonRow
              key={person.user_id}
              person={person}
              link={links.data?.find(({ user_id }) => user_id === person.user_id)}
              onOpen={(what) => setOpen({ what, person })}
              onWithdraw={async (link) => {
                await runWithToast(
                  () => client.invitations.withdraw(link.id),
                  'Withdrawn. The link leads nowhere any more.',
                );
                links.reload();
              }}
            />
          ))}
        </ul>
      )}
      {people.data?.length === 1 && (
        <p class="soft">
          You are alone here. Add somebody: they get a link, choose a passphrase, and see the same calendar.
        </p>
      )}
      {open?.what === 'add' && <AddPerson onDone={reload} onClose={close} />}
      {open?.what === 'link' && <IssueLink person={open.person} onCreated={links.reload} onClose={close} />}
      {open?.what === 'change' && (
        <ChangePerson person={open.person} isLastOwner={owners < 2} onDone={reload} onClose={close} />
      )}
      {open?.what === 'sessions' && (
        <Dialog title={`Where ${displayNameOf(open.person)} is signed in`} onClose={close}>
          <SessionList userId={open.person.user_id} />
        </Dialog>
      )}
      {open?.what === 'delete' && <DeletePersonDialog person={open.person} onDone={reload} onClose={close} />}
    </Page>
  );
}

type PersonRowProps = {
  readonly person: User;
  /** The invitation link of this user, if one exists that is not used yet. */
  readonly link: Invitation | undefined;
  readonly onOpen: (what: Exclude<OpenDialog['what'], 'add'>) => void;
  readonly onWithdraw: (link: Invitation) => void;
};

function PersonRow({ person, link, onOpen, onWithdraw }: PersonRowProps) {
  const { user } = currentSession();
  const hasHigherRole = person.role === 'owner' && user.role !== 'owner';
  const isMe = person.user_id === user.user_id;
  const items: readonly MenuItem[] = [
    { text: 'Change…', icon: 'pencil', onPick: () => onOpen('change') },
    { text: 'New link…', icon: 'key', onPick: () => onOpen('link') },
    ...(link === undefined
      ? []
      : [{ text: 'Withdraw the link', icon: 'undo', onPick: () => onWithdraw(link) } as const]),
    { text: 'Sessions…', icon: 'clock', onPick: () => onOpen('sessions') },
    { text: 'Delete…', icon: 'trash', isDanger: true, onPick: () => onOpen('delete') },
  ];
  return (
    <li>
      <Initials name={displayNameOf(person)} />
      <div class="grow">
        <div class="row">
          <strong>{displayNameOf(person)}</strong>
          <Badge tone={roleTones[person.role]}>{person.role}</Badge>
          {isMe && <span class="small soft">you</span>}
        </div>
        <p class="small soft">{person.email}</p>
      </div>
      <div class="asides">
        <span>Added</span>
        <Timestamp at={person.date_created} />
        {link !== undefined && (
          <>
            <span>Link open, ends</span>
            <Timestamp at={link.expires} />
          </>
        )}
      </div>
      {hasHigherRole ? (
        <span class="small soft">above you</span>
      ) : (
        <Menu label={`What to do with ${displayNameOf(person)}`} items={items} />
      )}
    </li>
  );
}

type DeletePersonProps = { readonly person: User; readonly onDone: () => void; readonly onClose: () => void };

function DeletePersonDialog({ person, onDone, onClose }: DeletePersonProps) {
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
        onDone();
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

/** Returns the API calls of the screen. Their example is the newest user other than the current user. */
function apiCallsFor(last: User | undefined): readonly ApiCall[] {
  const id = last?.user_id;
  return [
    { description: 'List the people', method: 'GET', path: '/users', sdk: 'users.list()' },
    {
      description: 'Add somebody',
      method: 'POST',
      path: '/users',
      body: examplePerson,
      sdk: `users.create(${JSON.stringify(examplePerson)})`,
    },
    ...(last === undefined
      ? []
      : ([
          {
            description: `Make ${displayNameOf(last)} an admin`,
            method: 'PUT',
            path: `/users/${id}`,
            body: { role: 'admin' },
            sdk: `users.update('${id}', { role: 'admin' })`,
          },
          {
            description: `Delete ${displayNameOf(last)}`,
            method: 'DELETE',
            path: `/users/${id}`,
            sdk: `users.delete('${id}')`,
          },
        ] as const)),
  ];
}

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { client } from '../../app/client.ts';
import { isAdmin, requireSession, roleTones, session } from '../../app/session.ts';
import { ThemeChoice } from '../../app/theme.tsx';
import { useSubmission } from '../../app/use-query.ts';
import { SessionList } from '../../auth/session-list.tsx';
import { MIN_PASSPHRASE_LENGTH } from '../../auth/sign-in.tsx';
import type { ApiCallExample } from '../../components/api-call.tsx';
import { Badge, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { PassphraseField, TextField } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { showToast } from '../../components/toast.tsx';
import './profile.css';

/** Screen with the profile of the current user: name, passphrase, sessions and theme. */
export default function ProfileScreen() {
  const { user, company } = requireSession();
  const [passphraseChangeCount, setPassphraseChangeCount] = useState(0);
  const nameChanges = { first_name: user.first_name, last_name: user.last_name };
  const apiCalls: readonly ApiCallExample[] = [
    { description: 'Ask who you are', method: 'GET', path: '/user', sdk: 'user.get()' },
    { description: 'Ask for the account', method: 'GET', path: '/company', sdk: 'company.get()' },
    ...(isAdmin()
      ? [
          {
            description: 'Change your name',
            method: 'PUT',
            path: `/users/${user.user_id}`,
            body: nameChanges,
            sdk: `users.update('${user.user_id}', ${JSON.stringify(nameChanges)})`,
          } as const,
        ]
      : []),
  ];
  return (
    <Page title="You" intro="What is yours, and what this browser keeps." calls={apiCalls}>
      <div class="halves">
        <ProfileSection title="Name">
          <NameForm />
        </ProfileSection>
        <ProfileSection title="Passphrase">
          <PassphraseForm onChanged={() => setPassphraseChangeCount(passphraseChangeCount + 1)} />
        </ProfileSection>
      </div>
      <ProfileSection title="Where you are signed in">
        <SessionList key={passphraseChangeCount} userId={user.user_id} />
      </ProfileSection>
      <div class="halves">
        <ProfileSection title="Colours">
          <p class="soft">Kept in this browser alone.</p>
          <ThemeChoice />
        </ProfileSection>
        <ProfileSection title="Account">
          <dl class="pairs">
            <dt>Name</dt>
            <dd>{company.company_name}</dd>
            <dt>Domain</dt>
            <dd>
              <code>{company.domain}</code>
            </dd>
            <dt>Your role</dt>
            <dd>
              <Badge tone={roleTones[user.role]}>{user.role}</Badge>
            </dd>
          </dl>
          <p class="small soft">Programs send the domain in the header of that name, beside their key.</p>
        </ProfileSection>
      </div>
    </Page>
  );
}

function ProfileSection({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card padded stack" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function NameForm() {
  const { user, company } = requireSession();
  const [firstName, setFirstName] = useState(user.first_name);
  const [lastName, setLastName] = useState(user.last_name);
  const [email, setEmail] = useState(user.email);
  const isReadOnly = !isAdmin();
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    const updatedUser = await client.users.update(user.user_id, { first_name: firstName, last_name: lastName, email });
    session.value = { user: updatedUser, company };
    showToast('Saved.');
  });
  return (
    <form class="stack" onSubmit={submit}>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      <div class="pair">
        <TextField
          label="First name"
          autoComplete="given-name"
          value={firstName}
          onInput={setFirstName}
          readOnly={isReadOnly}
          errorText={errorsByField.first_name}
        />
        <TextField
          label="Last name"
          autoComplete="family-name"
          value={lastName}
          onInput={setLastName}
          readOnly={isReadOnly}
          errorText={errorsByField.last_name}
        />
      </div>
      <TextField
        label="Email"
        type="email"
        autoComplete="email"
        required
        value={email}
        onInput={setEmail}
        readOnly={isReadOnly}
        errorText={errorsByField.email}
        hint="You sign in with it."
      />
      {isReadOnly ? (
        <p class="small soft">Names and addresses are changed by admins.</p>
      ) : (
        <div>
          <Button type="submit" disabled={isBusy}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}

function PassphraseForm({ onChanged }: { readonly onChanged: () => void }) {
  const { user } = requireSession();
  const [currentPassphrase, setCurrentPassphrase] = useState('');
  const [newPassphrase, setNewPassphrase] = useState('');
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    await client.passphrase.set({ current: currentPassphrase, passphrase: newPassphrase });
    setCurrentPassphrase('');
    setNewPassphrase('');
    onChanged();
    showToast('Changed. Your other sessions have ended.');
  });
  return (
    <form class="stack" onSubmit={submit}>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {/* Password managers use this hidden field to find the account. */}
      <input
        class="hidden-text"
        type="text"
        autoComplete="username"
        tabIndex={-1}
        aria-hidden="true"
        value={user.email}
        readOnly
      />
      <PassphraseField
        label="Present passphrase"
        autoComplete="current-password"
        value={currentPassphrase}
        onInput={setCurrentPassphrase}
        errorText={errorsByField.current}
      />
      <PassphraseField
        label="New passphrase"
        autoComplete="new-password"
        minLength={MIN_PASSPHRASE_LENGTH}
        value={newPassphrase}
        onInput={setNewPassphrase}
        errorText={errorsByField.passphrase}
        hint={`At least ${MIN_PASSPHRASE_LENGTH} characters. Your other sessions end.`}
      />
      <div>
        <Button type="submit" disabled={isBusy}>
          {isBusy ? 'Changing…' : 'Change'}
        </Button>
      </div>
    </form>
  );
}

import { useState } from 'preact/hooks';
import type { InvitedUser } from '../../../packages/sdk/src/console.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { client } from '../app/client.ts';
import { hrefTo } from '../app/router.ts';
import { loadSession } from '../app/session.ts';
import { useQuery, useSubmission } from '../app/use-query.ts';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button, ButtonLink } from '../components/button.tsx';
import { PassphraseField, TextField } from '../components/field.tsx';
import { AuthLayout } from './auth-layout.tsx';
import { MIN_PASSPHRASE_LENGTH } from './sign-in.tsx';

/** Page behind a one-time link for an invitation or a passphrase reset: the user sets a passphrase and is signed in. */
export function AcceptInvitation({ token }: { readonly token: string }) {
  const invitationQuery = useQuery(() => loadInvitation(token), [token]);
  return (
    <AuthLayout title={invitationQuery.data?.has_passphrase === '1' ? 'Set a new passphrase' : 'Welcome to Carillon'}>
      {invitationQuery.data && <PassphraseForm token={token} invitation={invitationQuery.data} />}
      {invitationQuery.errorText !== undefined && (
        <Note tone="bad">
          {invitationQuery.errorText} <Button onClick={invitationQuery.reload}>Try again</Button>
        </Note>
      )}
      {invitationQuery.data === null && (
        <>
          <Note tone="bad">This link leads nowhere any more: it was used, has expired, or a newer one was made.</Note>
          <p class="soft">
            Ask an admin of the account for a new one. Whoever runs the service can make one, too:{' '}
            <code>carillon users invite</code>.
          </p>
          <ButtonLink href={hrefTo('calendar')}>Sign in instead</ButtonLink>
        </>
      )}
      {invitationQuery.data === undefined && invitationQuery.errorText === undefined && (
        <LoadingSkeleton lineCount={3} />
      )}
    </AuthLayout>
  );
}

/** Loads the invitation that a token belongs to; null when the token is used, expired or unknown. */
async function loadInvitation(token: string): Promise<InvitedUser | null> {
  try {
    return await client.getInvitedUser(token);
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'not_found') return null;
    throw error;
  }
}

function PassphraseForm({ token, invitation }: { token: string; invitation: InvitedUser }) {
  const [passphrase, setPassphrase] = useState('');
  const { email, user_name, domain, has_passphrase } = invitation;
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    await client.acceptInvitation(token, passphrase);
    await loadSession();
    // Replace the history entry, so that Back does not return to the used link.
    location.replace(hrefTo('calendar'));
  });
  return (
    <form class="stack" onSubmit={submit}>
      <p class="soft">
        {user_name.trim() === '' ? 'Choose' : `${user_name}, choose`} a passphrase for your account at{' '}
        <strong>{domain}</strong>. Several words are easier to keep in mind than one with signs in it.
        {has_passphrase === '1' && ' It replaces the present one, and you are signed out everywhere else.'}
      </p>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {/* Password managers store the passphrase under this user name. */}
      <TextField
        label="Email"
        type="email"
        name="username"
        autoComplete="username"
        readOnly
        value={email}
        onInput={() => undefined}
      />
      <PassphraseField
        label="Passphrase"
        autoComplete="new-password"
        minLength={MIN_PASSPHRASE_LENGTH}
        autoFocus
        value={passphrase}
        onInput={setPassphrase}
        errorText={errorsByField.passphrase}
        hint={`At least ${MIN_PASSPHRASE_LENGTH} characters.`}
      />
      <Button variant="primary" type="submit" disabled={isBusy}>
        {isBusy ? 'Saving…' : 'Save and sign in'}
      </Button>
    </form>
  );
}

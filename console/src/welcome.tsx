import { useState } from 'preact/hooks';
import { client } from './client.ts';
import { Button, ButtonLink } from './design/button.tsx';
import { TextField } from './design/field.tsx';
import { Note, Waiting } from './design/state.tsx';
import { explain, faultsOf, useLoaded } from './load.ts';
import { go, to } from './router.ts';
import { findSession } from './session.ts';

const SHORTEST = 12;

/** What a one-time link opens: whoever has it sets a passphrase, and is signed in. */
export function Welcome({ token }: { readonly token: string }) {
  const invitation = useLoaded(() => client.invitation(token), [token]);
  return (
    <main class="door">
      <div class="card">
        <div class="brand">
          <img src="./bell.svg" alt="" width={32} height={32} />
          <h1>{invitation.data?.has_passphrase === '1' ? 'Set a new passphrase' : 'Welcome to Carillon'}</h1>
        </div>
        {invitation.data !== undefined && (
          <PassphraseForm token={token} email={invitation.data.email} domain={invitation.data.domain} />
        )}
        {invitation.fault !== undefined && (
          <>
            <Note tone="bad">This link leads nowhere any more: it was used, has expired, or a newer one was made.</Note>
            <p class="soft">
              Ask an admin of the account for a new one. Whoever runs the service can make one, too:{' '}
              <code>carillon users invite</code>.
            </p>
            <ButtonLink href={to('calendar')}>Sign in instead</ButtonLink>
          </>
        )}
        {invitation.data === undefined && invitation.fault === undefined && <Waiting lines={3} />}
      </div>
    </main>
  );
}

function PassphraseForm({ token, email, domain }: { token: string; email: string; domain: string }) {
  const [passphrase, setPassphrase] = useState('');
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await client.welcome(token, passphrase);
      await findSession();
      go(to('calendar'));
    } catch (error) {
      setFault(faultsOf(error).passphrase ?? explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p class="soft">
        You are <strong>{email}</strong> at <strong>{domain}</strong>. Choose a passphrase; several words are easier to
        keep in mind than one with signs in it.
      </p>
      {/* A password manager keeps it under this name. */}
      <input type="hidden" name="username" autoComplete="username" value={email} />
      <TextField
        label="Passphrase"
        type="password"
        autoComplete="new-password"
        required
        minLength={SHORTEST}
        autoFocus
        value={passphrase}
        onInput={setPassphrase}
        fault={fault}
        hint={`At least ${SHORTEST} characters.`}
      />
      <Button look="primary" type="submit" disabled={isBusy}>
        {isBusy ? 'Saving…' : 'Save and sign in'}
      </Button>
    </form>
  );
}

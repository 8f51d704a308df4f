import { useEffect, useState } from 'preact/hooks';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { client } from '../app/client.ts';
import { findSession, hasEnded } from '../app/session.ts';
import { faultsOf, span, useSubmission } from '../app/use-query.ts';
import { speaker } from '../components/api-call.tsx';
import { Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { TextField } from '../components/field.tsx';
import { PassphraseField } from '../components/passphrase.tsx';
import { Door } from './auth-layout.tsx';

const DOMAIN = 'carillon.domain';

/** The shortest passphrase that the service takes. */
export const MIN_PASSPHRASE_LENGTH = 12;

/** The way in, for who has a passphrase. */
export function SignIn() {
  const kept = localStorage.getItem(DOMAIN) ?? '';
  // Whoever was signed in until now goes on in the same account.
  const [domain, setDomain] = useState(kept || (hasEnded.value ? speaker.domain : ''));
  const [email, setEmail] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const [waitS, wait] = useCountdown();
  // Where the service has one account, nobody has to know what it is called.
  const [asksDomain, setAsksDomain] = useState(kept !== '');
  const { submit, isBusy, faults, fault } = useSubmission(async () => {
    try {
      await client.signIn({ email: email.trim(), passphrase, ...(domain.trim() !== '' && { domain: domain.trim() }) });
    } catch (error) {
      const isOfDomain = faultsOf(error).domain !== undefined;
      if (isOfDomain || domain !== '') setAsksDomain(true);
      if (!isOfDomain) setPassphrase('');
      if (error instanceof CarillonError && error.code === 'too_many_tries') wait(error.retryAfterS ?? 30);
      throw error;
    }
    localStorage.setItem(DOMAIN, domain.trim());
    await findSession();
  });
  return (
    <Door title="Sign in to Carillon">
      <form class="stack" onSubmit={submit}>
        {fault === undefined && hasEnded.value && (
          <Note>Your session has ended. Sign in, and you go on where you were.</Note>
        )}
        {fault !== undefined && <Note tone="bad">{fault}</Note>}
        {asksDomain && (
          <TextField
            label="Domain of the account"
            placeholder="acme.example"
            name="organization"
            autoComplete="organization"
            value={domain}
            onInput={setDomain}
            fault={faults.domain}
            hint="May stay empty where the service has one account."
          />
        )}
        <TextField
          label="Email"
          type="email"
          name="username"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onInput={setEmail}
          fault={faults.email}
        />
        <PassphraseField
          label="Passphrase"
          autoComplete="current-password"
          value={passphrase}
          onInput={setPassphrase}
          fault={faults.passphrase}
        />
        <Button look="primary" type="submit" disabled={isBusy || waitS > 0}>
          {label(isBusy, waitS)}
        </Button>
        <p class="small soft">
          No passphrase yet, or forgotten? An admin can make a link for you. Whoever runs the service can, too:{' '}
          <code>carillon users invite</code>.
        </p>
      </form>
    </Door>
  );
}

function label(isBusy: boolean, waitS: number): string {
  if (waitS > 0) return `Again in ${span(waitS)}`;
  return isBusy ? 'Signing in…' : 'Sign in';
}

/** Seconds that are left, and how to begin with some. */
function useCountdown(): [number, (seconds: number) => void] {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (left === 0) return;
    const timer = setTimeout(() => setLeft(left - 1), 1_000);
    return () => clearTimeout(timer);
  }, [left]);
  return [left, setLeft];
}

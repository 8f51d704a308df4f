import { useEffect, useState } from 'preact/hooks';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { client } from '../app/client.ts';
import { hasSessionEnded, loadSession } from '../app/session.ts';
import { formatWaitTime, toFieldErrors, useSubmission } from '../app/use-query.ts';
import { apiAccount } from '../components/api-call.tsx';
import { Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { PassphraseField, TextField } from '../components/field.tsx';
import { AuthLayout } from './auth-layout.tsx';

const DOMAIN_STORAGE_KEY = 'carillon.domain';

/** Minimum length of a passphrase, in characters, that the API accepts. */
export const MIN_PASSPHRASE_LENGTH = 12;

export function SignIn() {
  const storedDomain = localStorage.getItem(DOMAIN_STORAGE_KEY) ?? '';
  // After the session has ended, prefill the domain of the account that the user was signed in to.
  const [domain, setDomain] = useState(storedDomain || (hasSessionEnded.value ? apiAccount.domain : ''));
  const [email, setEmail] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const [waitSeconds, startCountdown] = useCountdown();
  // Ask for the domain only when needed: a server with a single account does not require it.
  const [needsDomain, setNeedsDomain] = useState(storedDomain !== '');
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    try {
      await client.signIn({ email: email.trim(), passphrase, ...(domain.trim() !== '' && { domain: domain.trim() }) });
    } catch (error) {
      const isDomainError = toFieldErrors(error).domain !== undefined;
      if (isDomainError || domain !== '') setNeedsDomain(true);
      if (!isDomainError) setPassphrase('');
      if (error instanceof CarillonError && error.code === 'too_many_tries') startCountdown(error.retryAfterS ?? 30);
      throw error;
    }
    localStorage.setItem(DOMAIN_STORAGE_KEY, domain.trim());
    await loadSession();
  });
  return (
    <AuthLayout title="Sign in to Carillon">
      <form class="stack" onSubmit={submit}>
        {errorText === undefined && hasSessionEnded.value && (
          <Note>Your session has ended. Sign in, and you go on where you were.</Note>
        )}
        {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
        {needsDomain && (
          <TextField
            label="Domain of the account"
            placeholder="acme.example"
            name="organization"
            autoComplete="organization"
            value={domain}
            onInput={setDomain}
            errorText={errorsByField.domain}
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
          errorText={errorsByField.email}
        />
        <PassphraseField
          label="Passphrase"
          autoComplete="current-password"
          value={passphrase}
          onInput={setPassphrase}
          errorText={errorsByField.passphrase}
        />
        <Button variant="primary" type="submit" disabled={isBusy || waitSeconds > 0}>
          {formatSubmitLabel(isBusy, waitSeconds)}
        </Button>
        <p class="small soft">
          No passphrase yet, or forgotten? An admin can make a link for you. Whoever runs the service can, too:{' '}
          <code>carillon users invite</code>.
        </p>
      </form>
    </AuthLayout>
  );
}

function formatSubmitLabel(isBusy: boolean, waitSeconds: number): string {
  if (waitSeconds > 0) return `Again in ${formatWaitTime(waitSeconds)}`;
  return isBusy ? 'Signing in…' : 'Sign in';
}

/** Counts down once per second. Returns the remaining seconds, and a function that starts the countdown. */
function useCountdown(): [number, (seconds: number) => void] {
  const [secondsLeft, setSecondsLeft] = useState(0);
  useEffect(() => {
    if (secondsLeft === 0) return;
    const timer = setTimeout(() => setSecondsLeft(secondsLeft - 1), 1_000);
    return () => clearTimeout(timer);
  }, [secondsLeft]);
  return [secondsLeft, setSecondsLeft];
}

import { useState } from 'preact/hooks';
import { client } from './client.ts';
import { Button } from './design/button.tsx';
import { TextField } from './design/field.tsx';
import { Note } from './design/state.tsx';
import { explain, faultsOf } from './load.ts';
import { findSession } from './session.ts';

const DOMAIN = 'carillon.domain';

/** The way in, for who has a passphrase. */
export function SignIn() {
  const [domain, setDomain] = useState(localStorage.getItem(DOMAIN) ?? '');
  const [email, setEmail] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const [fault, setFault] = useState<{ text: string; fields: Readonly<Record<string, string>> }>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await client.signIn({ email, passphrase, ...(domain.trim() !== '' && { domain: domain.trim() }) });
      localStorage.setItem(DOMAIN, domain.trim());
      await findSession();
    } catch (error) {
      setFault({ text: explain(error), fields: faultsOf(error) });
      setPassphrase('');
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="door">
      <form class="card" onSubmit={submit}>
        <div class="brand">
          <img src="./bell.svg" alt="" width={32} height={32} />
          <h1>Sign in to Carillon</h1>
        </div>
        {fault !== undefined && <Note tone="bad">{fault.text}</Note>}
        <TextField
          label="Email"
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onInput={setEmail}
          fault={fault?.fields.email}
        />
        <TextField
          label="Passphrase"
          type="password"
          autoComplete="current-password"
          required
          value={passphrase}
          onInput={setPassphrase}
          fault={fault?.fields.passphrase}
        />
        <TextField
          label="Domain of the account"
          placeholder="acme.example"
          autoComplete="organization"
          value={domain}
          onInput={setDomain}
          fault={fault?.fields.domain}
          hint="May stay empty where the service has one account."
        />
        <Button look="primary" type="submit" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </Button>
        <p class="small soft">
          No passphrase yet, or forgotten? An admin can make a link for you. Whoever runs the service can, too:{' '}
          <code>carillon users invite</code>.
        </p>
      </form>
    </main>
  );
}

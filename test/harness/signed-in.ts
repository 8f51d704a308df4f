import { SessionCookie } from '../../src/http/session-cookie.ts';
import { openSession } from '../../src/resources/sessions/actions.ts';
import { CarillonConsole } from '../../src/sdk/console.ts';
import { systemChance } from '../../src/secrets.ts';
import { AccountWrite } from '../../src/store/account.ts';
import type { Person, TestService } from './service.ts';

/** Somebody who has signed in to the console: their client, and what their browser sends. */
export type SignedIn = { readonly console: CarillonConsole; readonly headers: Readonly<Record<string, string>> };

/**
 * Opens a session past the passphrase, for what the console shows and not for how one gets in.
 *
 * @param now the moment on the clock of the service, if that is not the machine's
 */
export async function signedIn(
  { store, baseUrl }: TestService,
  { userId }: Person,
  now = Date.now(),
): Promise<SignedIn> {
  const { token, lifeMs } = await store.write(async (tx) => {
    const { account_id } = await tx.queries
      .selectFrom('users')
      .select('account_id')
      .where('user_id', '=', Number(userId))
      .executeTakeFirstOrThrow();
    const write = new AccountWrite(tx, account_id, now);
    return openSession(write, { userId: Number(userId), agent: 'a test' }, systemChance);
  });
  const [cookie = ''] = new SessionCookie(() => baseUrl).kept(token, lifeMs).split(';');
  const headers = { cookie, origin: new URL(baseUrl).origin };
  const console = new CarillonConsole({
    baseUrl,
    fetch: (url, init) =>
      fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } }),
  });
  return { console, headers };
}

import { signal } from '@preact/signals';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Company, User } from '../../../packages/sdk/src/people.ts';
import { apiAccount } from '../components/api-call.tsx';
import { client } from './client.ts';

/** The signed-in user and their account. */
export type Session = { readonly user: User; readonly company: Company };

/**
 * localStorage key of the signed-in user's id. All tabs share one cookie, so they must learn of each other's
 * sign-in.
 */
const USER_STORAGE_KEY = 'carillon.user';

// Another tab has signed in as a different user, or signed out: reload, because this tab shows the wrong user's
// data.
addEventListener('storage', ({ key, newValue }) => {
  const { value } = session;
  if (key === USER_STORAGE_KEY && value !== 'unknown' && value?.user.user_id !== (newValue ?? undefined))
    location.reload();
});

/** `unknown` until the first response; undefined when signed out. */
export const session = signal<Session | 'unknown' | undefined>('unknown');

/** Whether the session expired or was revoked while the console was open. */
export const hasEnded = signal(false);

/** Shows the sign-in form after the session has ended. */
export function endSession(): void {
  hasEnded.value = session.value !== 'unknown';
  session.value = undefined;
}

/** Loads the user and account of the session cookie. */
export async function findSession(): Promise<void> {
  try {
    const [user, company] = await Promise.all([client.user.get(), client.company.get()]);
    apiAccount.domain = company.domain;
    localStorage.setItem(USER_STORAGE_KEY, user.user_id);
    session.value = { user, company };
    hasEnded.value = false;
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    session.value = undefined;
  }
}

export async function signOut(): Promise<void> {
  await client.signOut();
  localStorage.removeItem(USER_STORAGE_KEY);
  session.value = undefined;
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'signed_out';
}

/** The current session, for components that are only rendered when signed in. */
export function currentUser(): Session {
  const { value } = session;
  if (value === undefined || value === 'unknown') throw new Error('not signed in');
  return value;
}

export const isAdmin = () => currentUser().user.role !== 'member';

import { signal } from '@preact/signals';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Company, Role, User } from '../../../packages/sdk/src/people.ts';
import { apiAccount } from '../components/api-call.tsx';
import type { Tone } from '../components/badge.tsx';
import { client } from './client.ts';

/** The signed-in user and their account. */
type CurrentSession = { readonly user: User; readonly company: Company };

/**
 * localStorage key of the signed-in user's id. All tabs share one session cookie, so each tab must notice when
 * another tab has signed in as a different user.
 */
const USER_STORAGE_KEY = 'carillon.user';

// Reload when another tab has signed in as a different user or signed out, because this tab shows the data of the
// previous user.
addEventListener('storage', ({ key, newValue }) => {
  const { value } = session;
  if (key === USER_STORAGE_KEY && value !== 'unknown' && value?.user.user_id !== (newValue ?? undefined))
    location.reload();
});

/** The current session: `unknown` until the first response, undefined when signed out. */
export const session = signal<CurrentSession | 'unknown' | undefined>('unknown');

/** Whether the session expired or was revoked while the console was open; the sign-in form then shows a note. */
export const hasSessionEnded = signal(false);

/** Clears the session after it has expired or was revoked, so that the sign-in form is shown. */
export function clearEndedSession(): void {
  hasSessionEnded.value = session.value !== 'unknown';
  session.value = undefined;
}

/** Loads the user and the account that the session cookie belongs to. */
export async function loadSession(): Promise<void> {
  try {
    const [user, company] = await Promise.all([client.user.get(), client.company.get()]);
    apiAccount.domain = company.domain;
    localStorage.setItem(USER_STORAGE_KEY, user.user_id);
    session.value = { user, company };
    hasSessionEnded.value = false;
  } catch (error) {
    if (!isSignedOutError(error)) throw error;
    session.value = undefined;
  }
}

export async function signOut(): Promise<void> {
  await client.signOut();
  localStorage.removeItem(USER_STORAGE_KEY);
  session.value = undefined;
}

export function isSignedOutError(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'signed_out';
}

/** Returns the current session. Throws when signed out, so only components that require a session may call it. */
export function requireSession(): CurrentSession {
  const { value } = session;
  if (value === undefined || value === 'unknown') throw new Error('not signed in');
  return value;
}

/** Whether the signed-in user has the rights of an admin. An owner has them, too. */
export const isAdmin = () => requireSession().user.role !== 'member';

/** Display name of a user: the name, or the email address if the name is empty. */
export function displayNameOf(user: { readonly user_name: string; readonly email: string }): string {
  return user.user_name.trim() === '' ? user.email : user.user_name;
}

/** Badge color of each role. */
export const roleTones: Readonly<Record<Role, Tone>> = { member: 'plain', admin: 'info', owner: 'good' };

import { signal } from '@preact/signals';
import type { Company } from '../../../packages/sdk/src/company.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { User } from '../../../packages/sdk/src/users.ts';
import { speaker } from '../components/api-call.tsx';
import { client } from './client.ts';

/** Who has signed in, and to which account. */
export type Session = { readonly user: User; readonly company: Company };

/** Under which this browser keeps who has signed in; its windows have one cookie between them. */
const USER = 'carillon.user';

// Another window has signed in as somebody else, or out: what this one shows is no longer whose it says.
addEventListener('storage', ({ key, newValue }) => {
  const { value } = session;
  if (key === USER && value !== 'unknown' && value?.user.user_id !== (newValue ?? undefined)) location.reload();
});

/** `unknown` until the service has answered; undefined when nobody has signed in. */
export const session = signal<Session | 'unknown' | undefined>('unknown');

/** Whether somebody was signed in here until the service said otherwise. */
export const hasEnded = signal(false);

/** Shows the way in to somebody whose session has ended. */
export function endSession(): void {
  hasEnded.value = session.value !== 'unknown';
  session.value = undefined;
}

/** Asks who has signed in. */
export async function findSession(): Promise<void> {
  try {
    const [user, company] = await Promise.all([client.user.get(), client.company.get()]);
    speaker.domain = company.domain;
    localStorage.setItem(USER, user.user_id);
    session.value = { user, company };
    hasEnded.value = false;
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    session.value = undefined;
  }
}

export async function signOut(): Promise<void> {
  await client.signOut();
  localStorage.removeItem(USER);
  session.value = undefined;
}

/** Whether an error says that the session has ended; whoever sees it is shown the way in. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'signed_out';
}

/** Who has signed in; for what is only shown to somebody who has. */
export function me(): Session {
  const { value } = session;
  if (value === undefined || value === 'unknown') throw new Error('nobody has signed in');
  return value;
}

export const isAdmin = () => me().user.role !== 'member';

import type { Role } from '../../../packages/sdk/src/people.ts';
import type { Tone } from '../components/badge.tsx';

/** Display name of a user: the name, or the email address if the name is empty. */
export function displayNameOf(user: { readonly user_name: string; readonly email: string }): string {
  return user.user_name.trim() === '' ? user.email : user.user_name;
}

/** Badge color of each role. */
export const roleTones: Readonly<Record<Role, Tone>> = { member: 'plain', admin: 'info', owner: 'good' };

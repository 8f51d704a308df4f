import type { Role } from '../../../packages/sdk/src/users.ts';
import type { Tone } from '../components/badge.tsx';

/** How somebody is called: by both names, or by their address where they have none. */
export function nameOf(user: { readonly user_name: string; readonly email: string }): string {
  return user.user_name.trim() === '' ? user.email : user.user_name;
}

/** The colour of each role, wherever it stands. */
export const roleTones: Readonly<Record<Role, Tone>> = { member: 'plain', admin: 'info', owner: 'good' };

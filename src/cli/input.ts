import { isPermission, isRole, type Permission, permissions, type Role, roles } from '../access.ts';
import { type Expiry, parseExpiry } from '../durations.ts';
import { Refusal } from './refusal.ts';

/** What a flag says, read; a flag that says something else is refused by its name. */

export function readEmail(text: string): string {
  const email = text.trim();
  if (/^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254) return email;
  throw new Refusal([`--email must be an e-mail address; ${text} is none.`]);
}

export function readRole(text: string): Role {
  if (isRole(text)) return text;
  throw new Refusal([`--role must be one of ${roles.join(', ')}; ${text} is none.`]);
}

export function readPermissions(text: string): readonly Permission[] {
  const wanted = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  const wrong = wanted.filter((one) => !isPermission(one));
  if (wrong.length === 0) return wanted.filter(isPermission);
  throw new Refusal([`--permissions: ${wrong.join(', ')} is none of ${permissions.join(', ')}.`]);
}

export function readExpiry(text: string | undefined): Expiry {
  const expiry = text === undefined ? null : parseExpiry(text);
  if (expiry !== undefined) return expiry;
  throw new Refusal([
    `--expires must be a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC; ${text} is none.`,
  ]);
}

import { isPlainText } from '../../control-characters.ts';
import { type Expiry, parseExpiry } from '../../durations.ts';
import { isValidText } from '../../http/fields/scalar-fields.ts';
import { isPermission, isRole, type Permission, permissions, type Role, roles } from '../../permissions.ts';
import { CliError } from '../output/screen.ts';

// Each function of this file parses the value of a flag, or throws a CliError that names the flag.

export function readEmail(text: string, flag = '--email'): string {
  const email = text.trim();
  if (/^[^\s@]+@[^\s@]+$/.test(email) && isPlainText(email) && email.length <= 254) return email;
  throw new CliError([`${flag} must be an e-mail address; ${text} is not one.`]);
}

export function readPlainText(flag: string, text: string, maxLength: number): string {
  if (isValidText(text, 0, maxLength) && isPlainText(text)) return text.trim();
  throw new CliError([`${flag} must be a text of at most ${maxLength} characters without control characters.`]);
}

export function readRole(text: string): Role {
  if (isRole(text)) return text;
  throw new CliError([`--role must be one of ${roles.join(', ')}; ${text} is not one.`]);
}

export function readPermissions(text: string): readonly Permission[] {
  const permissionNames = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const invalidNames = permissionNames.filter((name) => !isPermission(name));
  if (permissionNames.length === 0)
    throw new CliError([
      '--permissions must name at least one; without the flag the key has all permissions of the user.',
    ]);
  if (invalidNames.length === 0) return permissionNames.filter(isPermission);
  throw new CliError([`--permissions: ${invalidNames.join(', ')} is not one of ${permissions.join(', ')}.`]);
}

export function readExpiry(text: string | undefined): Expiry {
  const expiry = text === undefined ? null : parseExpiry(text);
  if (expiry !== undefined) return expiry;
  throw new CliError([
    `--expires must be a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC; ${text} is not one.`,
  ]);
}

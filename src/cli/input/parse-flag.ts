import { hasNoControlCharacters } from '../../control-characters.ts';
import { type Expiry, parseExpiry } from '../../durations.ts';
import { isValidText } from '../../http/fields/validate-body.ts';
import { isPermission, isRole, type Permission, permissions, type Role, roles } from '../../permissions.ts';
import { CliError } from '../output/screen.ts';

// Each function of this file parses the value of a flag, or throws a CliError that names the flag.

export function readEmail(text: string, flag = '--email'): string {
  const email = text.trim();
  if (/^[^\s@]+@[^\s@]+$/.test(email) && hasNoControlCharacters(email) && email.length <= 254) return email;
  throw new CliError([`${flag} must be an e-mail address; ${text} is not one.`]);
}

export function parsePlainText(flag: string, text: string, maxLength: number): string {
  if (isValidText(text, 0, maxLength) && hasNoControlCharacters(text)) return text.trim();
  throw new CliError([`${flag} must be a text of at most ${maxLength} characters without control characters.`]);
}

export function readRole(text: string): Role {
  if (isRole(text)) return text;
  throw new CliError([`--role must be one of ${roles.join(', ')}; ${text} is not one.`]);
}

export function readPermissions(text: string): readonly Permission[] {
  const wanted = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  const wrong = wanted.filter((one) => !isPermission(one));
  if (wanted.length === 0)
    throw new CliError([
      '--permissions must name at least one; without the flag the key has all permissions of the user.',
    ]);
  if (wrong.length === 0) return wanted.filter(isPermission);
  throw new CliError([`--permissions: ${wrong.join(', ')} is not one of ${permissions.join(', ')}.`]);
}

export function readExpiry(text: string | undefined): Expiry {
  const expiry = text === undefined ? null : parseExpiry(text);
  if (expiry !== undefined) return expiry;
  throw new CliError([
    `--expires must be a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC; ${text} is not one.`,
  ]);
}

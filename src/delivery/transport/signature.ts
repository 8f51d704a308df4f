import { createHmac } from 'node:crypto';
import { SIGNING_SECRET_PREFIX } from '../../secrets.ts';

/** What notifications of a hook are signed by (X8). */
export type Secret = {
  readonly secret: string;
  /** Since when it signs, and until when, milliseconds since the epoch; null: until another one takes its place. */
  readonly since: number;
  readonly until: number | null;
};

/** The most that sign at once. A new one pushes out the oldest: a receiver must not be handed a page of signatures. */
const MAX_SECRETS = 5;

const NONE: readonly Secret[] = [];

/** The secrets of a hook from its column, newest first; none where it is not signed. */
export function readSecrets(column: string | null): readonly Secret[] {
  return column === null ? NONE : JSON.parse(column);
}

/** The secrets of a hook with a new one: those that sign now go on for as long as they overlap, and no longer than before. */
export function withNewSecret(
  present: readonly Secret[],
  { secret, now, overlapMs }: { readonly secret: string; readonly now: number; readonly overlapMs: number },
): Secret[] {
  const earlier = present.map((one) => ({
    ...one,
    until: Math.min(one.until ?? Number.POSITIVE_INFINITY, now + overlapMs),
  }));
  return [{ secret, since: now, until: null }, ...earlier.filter(({ until }) => until > now)].slice(0, MAX_SECRETS);
}

/** Until when a secret beside the newest one signs; null where none does. */
export function overlapsUntil(secrets: readonly Secret[], now: number): number | null {
  const ends = secrets.map(({ until }) => until ?? 0).filter((until) => until > now);
  return ends.length === 0 ? null : Math.max(...ends);
}

const UNSIGNED: readonly string[] = [];

/**
 * The headers that sign one attempt by Standard Webhooks, beside its `webhook-id`: names and values in turn; none where
 * the hook is not signed.
 */
export function signatureOf(
  secrets: readonly Secret[],
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): readonly string[] {
  if (secrets.length === 0) return UNSIGNED;
  const timestamp = Math.floor(now / 1_000);
  const signing = secrets.filter(({ until }) => until === null || until > now);
  const signatures = signing.map(({ secret }) => `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`);
  return ['webhook-timestamp', String(timestamp), 'webhook-signature', signatures.join(' ')];
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(SIGNING_SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(content).digest('base64');
}

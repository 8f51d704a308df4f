import { createHmac } from 'node:crypto';
import { SIGNING_SECRET_PREFIX } from '../../secrets.ts';

/** A signing secret of a hook (X8). */
export type Secret = {
  readonly secret: string;
  /** Valid from and until, milliseconds since the epoch; null: until the next rotation. */
  readonly since: number;
  readonly until: number | null;
};

/** Secrets that sign at the same time. A new one pushes out the oldest, which bounds the signature header. */
const MAX_SECRETS = 5;

const NONE: readonly Secret[] = [];

/** Parses the `secrets` column: newest first; empty if the hook is not signed. */
export function readSecrets(column: string | null): readonly Secret[] {
  return column === null ? NONE : JSON.parse(column);
}

/** Rotates in a new secret: the present ones stay valid for `overlapMs`, but not longer than before. */
export function withNewSecret(
  present: readonly Secret[],
  { secret, now, overlapMs }: { readonly secret: string; readonly now: number; readonly overlapMs: number },
): Secret[] {
  const overlapping = present.map((one) => ({
    ...one,
    until: Math.min(one.until ?? Number.POSITIVE_INFINITY, now + overlapMs),
  }));
  return [{ secret, since: now, until: null }, ...overlapping.filter(({ until }) => until > now)].slice(0, MAX_SECRETS);
}

/** Until when older secrets still sign, milliseconds since the epoch; null if only the newest one does. */
export function overlapsUntil(secrets: readonly Secret[], now: number): number | null {
  const ends = secrets.map(({ until }) => until ?? 0).filter((until) => until > now);
  return ends.length === 0 ? null : Math.max(...ends);
}

const UNSIGNED: readonly string[] = [];

/**
 * The Standard Webhooks signature headers of one attempt, without `webhook-id`, as alternating names and
 * values; empty if the hook is not signed.
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

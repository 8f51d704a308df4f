import { createHmac } from 'node:crypto';
import { SIGNING_SECRET_PREFIX } from '../../secrets.ts';

/** A signing secret of a hook (X8). */
export type SigningSecret = {
  readonly secret: string;
  /** Start of the validity, milliseconds since the epoch. */
  readonly since: number;
  /** End of the validity, milliseconds since the epoch; null: valid until the next rotation. */
  readonly until: number | null;
};

/**
 * Maximum number of secrets that sign at the same time, which limits the size of the signature header. A new secret
 * removes the oldest.
 */
const MAX_SECRETS = 5;

const NO_SECRETS: readonly SigningSecret[] = [];

/** Parses the `secrets` column: newest first; empty if the hook is not signed. */
export function parseSecrets(column: string | null): readonly SigningSecret[] {
  return column === null ? NO_SECRETS : JSON.parse(column);
}

/** Adds a new secret in front. The present secrets stay valid for `overlapMs`, but not longer than before. */
export function addSecret(
  currentSecrets: readonly SigningSecret[],
  { secret, now, overlapMs }: { readonly secret: string; readonly now: number; readonly overlapMs: number },
): SigningSecret[] {
  const overlappingSecrets = currentSecrets.map((one) => ({
    ...one,
    until: Math.min(one.until ?? Number.POSITIVE_INFINITY, now + overlapMs),
  }));
  return [{ secret, since: now, until: null }, ...overlappingSecrets.filter(({ until }) => until > now)].slice(
    0,
    MAX_SECRETS,
  );
}

/** Returns when the older secrets stop signing, milliseconds since the epoch; null if only the newest secret signs. */
export function findOverlapEnd(secrets: readonly SigningSecret[], now: number): number | null {
  const endTimes = secrets.map(({ until }) => until ?? 0).filter((until) => until > now);
  return endTimes.length === 0 ? null : Math.max(...endTimes);
}

const NO_HEADERS: readonly string[] = [];

/**
 * Returns the Standard Webhooks signature headers of one attempt, without `webhook-id`, as alternating names and
 * values; empty if the hook is not signed.
 */
export function createSignatureHeaders(
  secrets: readonly SigningSecret[],
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): readonly string[] {
  if (secrets.length === 0) return NO_HEADERS;
  const timestamp = Math.floor(now / 1_000);
  const validSecrets = secrets.filter(({ until }) => until === null || until > now);
  const signatures = validSecrets.map(({ secret }) => `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`);
  return ['webhook-timestamp', String(timestamp), 'webhook-signature', signatures.join(' ')];
}

/** Returns the base64 HMAC-SHA256 of the content. The SDK verifies it in `receiver/verify-signature.ts`. */
function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(SIGNING_SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(content).digest('base64');
}

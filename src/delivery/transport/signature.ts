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
 * Maximum number of secrets that sign at the same time, which limits the size of the signature header. Above it, a new
 * secret replaces the oldest.
 */
const MAX_VALID_SECRETS = 5;

const NO_SECRETS: readonly SigningSecret[] = [];

/** Parses the `secrets` column. Returns the secrets, newest first; empty if the webhooks of the hook are not signed. */
export function parseSecrets(column: string | null): readonly SigningSecret[] {
  return column === null ? NO_SECRETS : JSON.parse(column);
}

/**
 * Rotates the secrets: adds a new one in front. The current secrets stay valid for `overlapMs`, unless they expire
 * earlier.
 */
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
    MAX_VALID_SECRETS,
  );
}

/** Returns the time when the last older secret expires, milliseconds since the epoch; null if only the newest signs. */
export function findOverlapEnd(secrets: readonly SigningSecret[], now: number): number | null {
  const endTimes = secrets.map(({ until }) => until ?? 0).filter((until) => until > now);
  return endTimes.length === 0 ? null : Math.max(...endTimes);
}

const NO_HEADERS: readonly string[] = [];

/**
 * Returns the Standard Webhooks signature headers of one attempt, without `webhook-id`, as alternating names and
 * values; empty if the hook is not signed. During a rotation of secrets, there is one signature for each valid secret.
 */
export function createSignatureHeaders(
  secrets: readonly SigningSecret[],
  { webhookId, body, sentAt }: { readonly webhookId: string; readonly body: string; readonly sentAt: number },
): readonly string[] {
  if (secrets.length === 0) return NO_HEADERS;
  const timestampS = Math.floor(sentAt / 1_000);
  const validSecrets = secrets.filter(({ until }) => until === null || until > sentAt);
  const signatures = validSecrets.map(
    ({ secret }) => `v1,${computeSignature(secret, `${webhookId}.${timestampS}.${body}`)}`,
  );
  return ['webhook-timestamp', String(timestampS), 'webhook-signature', signatures.join(' ')];
}

/** Returns the base64 HMAC-SHA256 of the content. The SDK verifies it in `receiver/verify-signature.ts`. */
function computeSignature(secret: string, content: string): string {
  const keyBytes = Buffer.from(secret.slice(SIGNING_SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', keyBytes).update(content).digest('base64');
}

import { now } from './time.ts';

/** How far the clock of whoever signed may be from ours. */
const TOLERANCE_S = 300;

/** Signatures of one request that are looked at; a service that is changing its secret sends two. */
const MAX_SIGNATURES = 10;

/** What was signed, and how. */
export type Signed = {
  readonly id: string;
  readonly timestamp: string;
  /** Separated by spaces, each `v1,<base64>`. */
  readonly signatures: string;
  readonly body: string;
};

/**
 * Says whether a request was signed by one of these secrets, a short while ago: Standard Webhooks, HMAC-SHA256, compared
 * in constant time. X8.
 *
 * @param secrets `whsec_<base64>` each
 * @throws TypeError when one is no secret; the message never holds it
 */
export function verifier(secrets: readonly string[]): (signed: Signed) => Promise<boolean> {
  const bytes = secrets.map(bytesOfSecret);
  let keys: Promise<CryptoKey[]> | undefined;
  return async ({ id, timestamp, signatures, body }) => {
    if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now() / 1_000 - Number(timestamp)) > TOLERANCE_S) return false;
    keys ??= Promise.all(bytes.map(importKey));
    const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
    for (const signature of signatures.split(' ').slice(0, MAX_SIGNATURES)) {
      const given = signature.startsWith('v1,') ? bytesOf(signature.slice(3)) : undefined;
      for (const key of await keys) {
        if (given !== undefined && (await crypto.subtle.verify('HMAC', key, given, content))) return true;
      }
    }
    return false;
  };
}

type CryptoKey = Awaited<ReturnType<typeof importKey>>;

function importKey(secret: Uint8Array<ArrayBuffer>) {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function bytesOfSecret(secret: string): Uint8Array<ArrayBuffer> {
  const trimmed = secret.trim(); // one read from a file ends with a newline
  const bytes = trimmed.startsWith('whsec_') ? bytesOf(trimmed.slice('whsec_'.length)) : undefined;
  if (bytes === undefined || bytes.length === 0) throw new TypeError('A secret is "whsec_" and base64.');
  return bytes;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

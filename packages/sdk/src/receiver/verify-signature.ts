/** Maximum difference between the signed timestamp and the local clock, in seconds. */
const MAX_CLOCK_SKEW_S = 300;

/** Maximum number of signatures that are checked per request. During a rotation there are two. */
const MAX_SIGNATURES = 10;

/** The signed parts of a request, and its signatures. */
export type SignedRequest = {
  readonly id: string;
  readonly timestamp: string;
  /** The signatures, separated by spaces, each `v1,<base64>`. */
  readonly signatures: string;
  readonly body: string;
};

/**
 * Returns a function that checks whether a request was recently signed by one of the secrets (X8). The signatures
 * follow Standard Webhooks: HMAC-SHA256, compared in constant time.
 *
 * @param secrets the secrets, each `whsec_<base64>`
 * @throws TypeError for an invalid secret; the message never contains the secret
 */
export function createSignatureVerifier(
  secrets: readonly string[],
): (signedRequest: SignedRequest) => Promise<boolean> {
  const decodedSecrets = secrets.map(decodeSecret);
  let hmacKeysPromise: Promise<HmacKey[]> | undefined;
  return async ({ id, timestamp, signatures, body }) => {
    if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now() / 1_000 - Number(timestamp)) > MAX_CLOCK_SKEW_S) return false;
    hmacKeysPromise ??= Promise.all(decodedSecrets.map(importKey));
    const signedContent = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
    for (const signature of signatures.split(' ').slice(0, MAX_SIGNATURES)) {
      const signatureBytes = signature.startsWith('v1,') ? decodeBase64(signature.slice(3)) : undefined;
      for (const key of await hmacKeysPromise) {
        if (signatureBytes !== undefined && (await crypto.subtle.verify('HMAC', key, signatureBytes, signedContent)))
          return true;
      }
    }
    return false;
  };
}

type HmacKey = Awaited<ReturnType<typeof importKey>>;

function importKey(secret: Uint8Array<ArrayBuffer>) {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function decodeSecret(secret: string): Uint8Array<ArrayBuffer> {
  const trimmedSecret = secret.trim(); // a secret that was read from a file ends with a newline
  const bytes = trimmedSecret.startsWith('whsec_') ? decodeBase64(trimmedSecret.slice('whsec_'.length)) : undefined;
  if (bytes === undefined || bytes.length === 0) throw new TypeError('A secret must be "whsec_" and base64.');
  return bytes;
}

function decodeBase64(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The current time, in milliseconds since the epoch. */
const now = (): number => Date.now();

/** What a way to authenticate adds to each request. */
export type Credentials = {
  /** Sent with the request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the browser sends cookies; as in `fetch`. */
  readonly credentials?: 'omit' | 'same-origin' | 'include';
};

/** A way to authenticate: asked anew before every request, so that what it gives may change. */
export type Authenticate = () => Credentials;

const visible = /^[\x21-\x7e]+$/;

export function headerValue(name: string, value: string): string {
  // A key read from a file ends with a newline; one read from the environment may be missing.
  const trimmed = typeof value === 'string' ? value.trim() : '';
  if (!visible.test(trimmed))
    throw new TypeError(`The ${name} is empty or missing, or holds what a header cannot carry.`);
  return trimmed;
}

/**
 * Authenticates with the headers `key` and `domain`. C1. Cookies are never sent along.
 *
 * @param options.domain the account's own host name, `acme.example`; case does not matter
 * @param options.key an API key of a user of that account
 * @throws TypeError when either can be no header; the message never holds the value
 */
export function apiKey(options: { readonly domain: string; readonly key: string }): Authenticate {
  const headers = { domain: headerValue('domain', options.domain), key: headerValue('key', options.key) };
  // A closure, so that printing a client never prints its key.
  return () => ({ headers, credentials: 'omit' });
}

/** Headers and cookie mode that authentication adds to each request. */
export type Credentials = {
  /** Headers to send. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the browser sends cookies, as in `fetch`. */
  readonly credentials?: 'omit' | 'same-origin' | 'include';
};

/** Returns the credentials; called before every request, so that they can change. */
export type Authenticate = () => Credentials;

const visible = /^[\x21-\x7e]+$/;

export function headerValue(name: string, value: string): string {
  // A key from a file ends with a newline; one from the environment may be missing.
  const trimmed = typeof value === 'string' ? value.trim() : '';
  if (!visible.test(trimmed))
    throw new TypeError(`The ${name} is empty or missing, or contains characters that a header cannot have.`);
  return trimmed;
}

/**
 * Authenticates with the headers `key` and `domain`. C1. Cookies are never sent.
 *
 * @param options.domain the account's own host name, `acme.example`; case does not matter
 * @param options.key an API key of a user of that account
 * @throws TypeError if one of them is not a valid header; the message never contains the value
 *
 * @example
 * ```ts
 * const auth = apiKey({ domain: 'acme.example', key });
 * const carillon = new Carillon({ baseUrl: 'https://calendar.example', auth });
 * ```
 */
export function apiKey(options: { readonly domain: string; readonly key: string }): Authenticate {
  const headers = { domain: headerValue('domain', options.domain), key: headerValue('key', options.key) };
  // A closure hides the key when a client is printed.
  return () => ({ headers, credentials: 'omit' });
}

import type { IncomingMessage } from 'node:http';
import { headerLines } from '../server/headers.ts';

/**
 * The cookie that holds the token of a session: never seen by a script, never sent from another site. Under https its
 * name makes the browser insist that it came from this very host and by https; under http, services on other ports of
 * the host have names of their own, since cookies know no ports.
 */
export class SessionCookie {
  readonly #baseUrl: () => string;

  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl;
  }

  /** The token, where the cookie stands exactly once. */
  read(request: Pick<IncomingMessage, 'rawHeaders'>): string | undefined {
    const { name } = this.#form();
    const values = headerLines(request, 'cookie')
      .flatMap((line) => line.split(';'))
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1));
    return values.length === 1 ? values[0] : undefined;
  }

  /** What `Set-Cookie` says to keep a token for so long. */
  set(token: string, lifeMs: number): string {
    return this.#written(token, Math.floor(lifeMs / 1_000));
  }

  /** What `Set-Cookie` says to forget it. */
  cleared(): string {
    return this.#written('', 0);
  }

  #written(value: string, maxAgeS: number): string {
    const { name, attributes } = this.#form();
    return [`${name}=${value}`, `Max-Age=${maxAgeS}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', ...attributes].join(
      '; ',
    );
  }

  #form(): { name: string; attributes: readonly string[] } {
    const { protocol, port } = new URL(this.#baseUrl());
    if (protocol === 'https:') return { name: '__Host-carillon', attributes: ['Secure'] };
    return { name: `carillon_${port === '' ? '80' : port}`, attributes: [] };
  }
}

import type { SecureContextOptions } from 'node:tls';
import type { Authority } from './certificates.ts';
import type { Visit } from './connection.ts';

/**
 * When a behaviour begins: when somebody has connected, when the first bytes are here, when the head of the request is,
 * when its body has begun, or when it is here whole.
 */
export type Moment = 'connected' | 'greeted' | 'head' | 'body' | 'asked';

/** What a sender has to make of it: the status that it reads, or why there is none. */
export type Seen = number | 'timeout' | 'reset' | 'protocol' | 'tls';

/** One way of not being a good receiver, or of being one. */
export type Behaviour = {
  readonly slug: string;
  /** What it does on the wire, in one sentence. */
  readonly says: string;
  readonly sees: Seen;
  /** Left out: when the whole request is here. */
  readonly at?: Moment;
  /** Makes sense for a sender that speaks TLS alone; what it is met with there, where that is not a good handshake. */
  readonly tls?: true | ((authority: Authority) => SecureContextOptions);
  readonly act: (visit: Visit) => void | Promise<void>;
};

/** What becomes of a notification that meets it, for a sender that takes 200 for success and 401 for the end. */
export function verdictOn({ sees }: Pick<Behaviour, 'sees'>): 'delivered' | 'ended' | 'failed' {
  if (sees === 200) return 'delivered';
  return sees === 401 ? 'ended' : 'failed';
}

type Act = Omit<Behaviour, 'slug'>;

/** Rows that are written as their slug and the rest. */
export function rows(named: Readonly<Record<string, Act>>): readonly Behaviour[] {
  return Object.entries(named).map(([slug, row]) => ({ slug, ...row }));
}

/** Says that, and ends the connection. */
export const answers = (says: string, sees: Seen, text: string, at: Moment = 'asked'): Act => ({
  says,
  sees,
  at,
  act: (visit) => visit.end(text),
});

/** Says that, and stays until the sender leaves: an end of ours behind it would be one more thing to tell apart. */
export const stays = (says: string, sees: Seen, text: string, at: Moment = 'asked'): Act => ({
  says,
  sees,
  at,
  async act(visit) {
    visit.write(text);
    await visit.left;
  },
});

/** The start of an answer, with the empty line behind its head; every connection carries one request alone. */
export function head(status: string | number, ...headers: readonly string[]): string {
  return `${[`HTTP/1.1 ${status}`, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;
}

/** A whole answer with a line of text. */
export const told = (status: string | number, text: string): string =>
  `${head(status, 'Content-Type: text/plain; charset=utf-8', `Content-Length: ${Buffer.byteLength(text) + 1}`)}${Buffer.from(text).toString('latin1')}\n`;

/** A whole answer without a body. */
export const bare = (status: string | number, ...headers: readonly string[]): string =>
  head(status, 'Content-Length: 0', ...headers);

export const OK = bare('200 OK');

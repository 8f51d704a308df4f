import type { SecureContextOptions } from 'node:tls';
import type { Authority } from './certificates.ts';
import type { Connection } from './connection.ts';

/** The point at which a behaviour starts: after the connect, the first bytes, the request head, its first body byte, or all of it. */
export type Phase = 'connected' | 'first-bytes' | 'request-head' | 'request-body' | 'request';

/** The result that a correct sender sees: a status, or the reason why it reads none. */
export type SenderResult = number | 'timeout' | 'reset' | 'protocol' | 'tls';

/** One way to misbehave, or to behave well. */
export type Behaviour = {
  /** The name, in scripts and paths. */
  readonly slug: string;
  /** One sentence: what the receiver sends or does. */
  readonly description: string;
  readonly senderSees: SenderResult;
  /** Default: `request`. */
  readonly startsAt?: Phase;
  /** Only for senders that use TLS. A function returns the certificate and TLS options; `true` means no handshake at all. */
  readonly tls?: true | ((authority: Authority) => SecureContextOptions);
  readonly run: (connection: Connection) => void | Promise<void>;
};

export type Outcome = 'delivered' | 'ended' | 'failed';

/** The outcome for a sender that treats 200 as success, 401 as "unsubscribe" and everything else as a failure. */
export function outcomeOf({ senderSees }: Pick<Behaviour, 'senderSees'>): Outcome {
  if (senderSees === 200) return 'delivered';
  return senderSees === 401 ? 'ended' : 'failed';
}

export type BehaviourBody = Omit<Behaviour, 'slug'>;

/** Converts a table with the slugs as keys into a list. */
export function behavioursOf(table: Readonly<Record<string, BehaviourBody>>): readonly Behaviour[] {
  return Object.entries(table).map(([slug, body]) => ({ slug, ...body }));
}

/** Sends the bytes and closes the connection. */
export const respond = (
  description: string,
  senderSees: SenderResult,
  bytes: string,
  startsAt: Phase = 'request',
): BehaviourBody => ({ description, senderSees, startsAt, run: (connection) => connection.end(bytes) });

/** Sends the bytes and waits until the sender closes. A close by the receiver would be a second signal to the sender. */
export const respondAndKeepOpen = (
  description: string,
  senderSees: SenderResult,
  bytes: string,
  startsAt: Phase = 'request',
): BehaviourBody => ({
  description,
  senderSees,
  startsAt,
  async run(connection) {
    connection.write(bytes);
    await connection.senderClosed;
  },
});

/** Status line and headers, with the empty line that ends them. Each connection serves one request. */
export function responseHead(status: string | number, ...headers: readonly string[]): string {
  return `${[`HTTP/1.1 ${status}`, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;
}

/** A complete response with one line of text. Strings are written as Latin-1, so the UTF-8 bytes are spelled out. */
export function textResponse(status: string | number, text: string): string {
  const bytes = Buffer.from(`${text}\n`);
  const head = responseHead(status, 'Content-Type: text/plain; charset=utf-8', `Content-Length: ${bytes.length}`);
  return head + bytes.toString('latin1');
}

/** A complete response without a body. */
export const emptyResponse = (status: string | number, ...headers: readonly string[]): string =>
  responseHead(status, 'Content-Length: 0', ...headers);

export const OK = emptyResponse('200 OK');

import type { SecureContextOptions } from 'node:tls';
import type { CertificateAuthority } from './certificates.ts';
import type { Connection } from './connection.ts';

/**
 * The point of a connection at which a behaviour starts: after the connect, the first bytes, the request head, the
 * first byte of the request body, or the whole request.
 */
export type StartPhase = 'connected' | 'first-bytes' | 'request-head' | 'request-body' | 'request';

/** The result that a correct sender observes: the status of the response, or the reason why it gets no response. */
export type SenderResult = number | 'timeout' | 'reset' | 'protocol' | 'tls';

/** One behaviour of the receiver: a way to misbehave, or a correct response for comparison. */
export type Behaviour = {
  /** Name of the behaviour, in scripts and paths. */
  readonly slug: string;
  /** One sentence that says what the receiver sends or does. */
  readonly description: string;
  /** The result that a correct sender observes. */
  readonly senderSees: SenderResult;
  /** The point at which the behaviour starts; default `request`. */
  readonly startsAt?: StartPhase;
  /**
   * Restricts the behaviour to senders that use TLS. A function returns the certificate and TLS options; with `true`,
   * the receiver performs no handshake.
   */
  readonly tls?: true | ((authority: CertificateAuthority) => SecureContextOptions);
  readonly run: (connection: Connection) => void | Promise<void>;
};

/** The outcome of a delivery at the sender. `ended`: the sender ends the subscription. */
export type SenderOutcome = 'delivered' | 'ended' | 'failed';

/**
 * Returns the outcome for a sender that treats 200 as success, 401 as "unsubscribe" and everything else as a failure.
 */
export function outcomeOf({ senderSees }: Pick<Behaviour, 'senderSees'>): SenderOutcome {
  if (senderSees === 200) return 'delivered';
  return senderSees === 401 ? 'ended' : 'failed';
}

export type BehaviourDefinition = Omit<Behaviour, 'slug'>;

/** Converts a table of behaviours, keyed by slug, to a list of behaviours that know their slug. */
export function toBehaviourList(definitions: Readonly<Record<string, BehaviourDefinition>>): readonly Behaviour[] {
  return Object.entries(definitions).map(([slug, definition]) => ({ slug, ...definition }));
}

/** Creates a behaviour that sends the bytes and closes the connection. */
export const defineClosingResponse = (
  description: string,
  senderSees: SenderResult,
  bytes: string,
  startsAt: StartPhase = 'request',
): BehaviourDefinition => ({ description, senderSees, startsAt, run: (connection) => connection.end(bytes) });

/**
 * Creates a behaviour that sends the bytes and waits until the sender closes. The receiver must not close first: the
 * sender would take the close as the end of the response.
 */
export const defineKeepOpenResponse = (
  description: string,
  senderSees: SenderResult,
  bytes: string,
  startsAt: StartPhase = 'request',
): BehaviourDefinition => ({
  description,
  senderSees,
  startsAt,
  async run(connection) {
    connection.write(bytes);
    await connection.senderClosed;
  },
});

/**
 * Returns a status line and headers, with the empty line that ends them. `Connection: close` is included, since each
 * connection serves one request.
 */
export function formatResponseHead(status: string | number, ...headers: readonly string[]): string {
  return `${[`HTTP/1.1 ${status}`, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;
}

/**
 * Returns a complete response with one line of text. Each UTF-8 byte becomes one Latin-1 character, because connections
 * write strings as Latin-1.
 */
export function formatTextResponse(status: string | number, text: string): string {
  const bytes = Buffer.from(`${text}\n`);
  const head = formatResponseHead(status, 'Content-Type: text/plain; charset=utf-8', `Content-Length: ${bytes.length}`);
  return head + bytes.toString('latin1');
}

/** Returns a complete response without a body. */
export const formatEmptyResponse = (status: string | number, ...headers: readonly string[]): string =>
  formatResponseHead(status, 'Content-Length: 0', ...headers);

export const EMPTY_200 = formatEmptyResponse('200 OK');

import { type Behaviour, emptyResponse, type Phase, responseHead, type SeenAs } from '../behaviour.ts';

/** A point at which a connection can break. */
type BreakPoint = {
  readonly name: string;
  /** The end of the sentence in the description. */
  readonly when: string;
  readonly startsAt?: Phase;
  /** Bytes that are sent before. */
  readonly bytes?: string;
  readonly seenAs: SeenAs;
};

const BREAK_POINTS: readonly BreakPoint[] = [
  { name: 'on-connect', when: 'immediately after the connect', startsAt: 'connected', seenAs: 'reset' },
  { name: 'after-request-head', when: 'after the request head', startsAt: 'request-head', seenAs: 'reset' },
  { name: 'mid-request-body', when: 'within the request body', startsAt: 'request-body', seenAs: 'reset' },
  { name: 'after-request', when: 'after the request', seenAs: 'reset' },
  { name: 'mid-status-line', when: 'within the status line', bytes: 'HTTP/1.1 2', seenAs: 'reset' },
  { name: 'after-status-line', when: 'after the status line', bytes: 'HTTP/1.1 200 OK\r\n', seenAs: 'reset' },
  { name: 'mid-head', when: 'within a header', bytes: 'HTTP/1.1 200 OK\r\nContent-Le', seenAs: 'reset' },
  { name: 'mid-100', when: 'within a `100 Continue`', bytes: 'HTTP/1.1 100 Cont', seenAs: 'reset' },
  { name: 'after-100', when: 'after a `100 Continue`', bytes: 'HTTP/1.1 100 Continue\r\n\r\n', seenAs: 'reset' },
  {
    name: 'after-head',
    when: 'after the head of a 200',
    bytes: responseHead('200 OK', 'Content-Length: 10'),
    seenAs: 200,
  },
  {
    name: 'mid-body',
    when: 'within the body of a 200',
    bytes: `${responseHead('200 OK', 'Content-Length: 10')}12345`,
    seenAs: 200,
  },
];

const resets = BREAK_POINTS.map(
  ({ name, when, startsAt = 'request', bytes, seenAs }): Behaviour => ({
    slug: `rst-${name}`,
    description: `Resets the connection (RST) ${when}.`,
    seenAs,
    startsAt,
    run: (connection) => connection.reset(bytes),
  }),
);

const closes = BREAK_POINTS.map(
  ({ name, when, startsAt = 'request', bytes, seenAs }): Behaviour => ({
    slug: `fin-${name}`,
    description: `Closes the connection (FIN) ${when}.`,
    seenAs,
    startsAt,
    run: (connection) => connection.end(bytes),
  }),
);

const halfCloses: readonly Behaviour[] = [
  {
    slug: 'half-close',
    description: 'Half-closes the connection immediately and continues to read.',
    seenAs: 'reset',
    startsAt: 'connected',
    async run(connection) {
      connection.end();
      await connection.senderClosed;
    },
  },
  {
    slug: 'half-close-after-answer',
    description: 'Responds 200, half-closes the connection and continues to read.',
    seenAs: 200,
    async run(connection) {
      connection.end(emptyResponse('200 OK'));
      await connection.senderClosed;
    },
  },
];

/** Connections that break, at each point of the exchange. */
export const brokenConnections: readonly Behaviour[] = [...resets, ...closes, ...halfCloses];

import {
  type Behaviour,
  defineClosingResponse,
  defineKeepOpenResponse,
  EMPTY_200,
  formatEmptyResponse,
  formatResponseHead,
  type SenderResult,
  type StartPhase,
  toBehaviourList,
} from '../behaviour.ts';

const CHUNKED_HEAD = formatResponseHead('200 OK', 'Transfer-Encoding: chunked');

/** Responses whose length or framing is wrong or ambiguous. */
export const framingErrors: readonly Behaviour[] = toBehaviourList({
  'length-too-long': defineClosingResponse(
    'Responds 200 with `Content-Length: 10`, sends five bytes and closes.',
    200,
    `${formatResponseHead('200 OK', 'Content-Length: 10')}12345`,
  ),
  'length-too-short': defineKeepOpenResponse(
    'Responds 200 with `Content-Length: 1` and sends five bytes.',
    200,
    `${formatResponseHead('200 OK', 'Content-Length: 1')}12345`,
  ),
  'length-negative': defineKeepOpenResponse(
    'Responds 200 with `Content-Length: -1`.',
    'protocol',
    formatResponseHead('200 OK', 'Content-Length: -1'),
  ),
  'length-word': defineKeepOpenResponse(
    'Responds 200 with `Content-Length: many`.',
    'protocol',
    formatResponseHead('200 OK', 'Content-Length: many'),
  ),
  'length-overflow': defineKeepOpenResponse(
    'Responds 200 with a `Content-Length` above 64 bits.',
    'protocol',
    formatResponseHead('200 OK', `Content-Length: ${2n ** 64n}0`),
  ),
  'length-twice': defineKeepOpenResponse(
    'Responds 200 with two different `Content-Length` headers.',
    'protocol',
    `${formatResponseHead('200 OK', 'Content-Length: 2', 'Content-Length: 5')}12345`,
  ),
  'length-and-chunked': defineKeepOpenResponse(
    'Responds 200 with `Content-Length` and `Transfer-Encoding`, the pattern of response smuggling.',
    'protocol',
    `${formatResponseHead('200 OK', 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  ),
  'encoding-unknown': defineKeepOpenResponse(
    'Responds 200 with `Transfer-Encoding: origami`.',
    200,
    `${formatResponseHead('200 OK', 'Transfer-Encoding: origami')}abc`,
  ),
  'chunk-size-word': defineKeepOpenResponse(
    'Responds 200 with the chunk size `zz`.',
    200,
    `${CHUNKED_HEAD}zz\r\nabc\r\n`,
  ),
  'chunk-size-negative': defineKeepOpenResponse(
    'Responds 200 with the chunk size `-1`.',
    200,
    `${CHUNKED_HEAD}-1\r\nabc\r\n`,
  ),
  'chunk-size-overflow': defineKeepOpenResponse(
    'Responds 200 with a chunk size above 64 bits.',
    200,
    `${CHUNKED_HEAD}${'f'.repeat(17)}\r\nabc\r\n`,
  ),
  'chunk-too-short': defineKeepOpenResponse(
    'Responds 200 with a chunk that is longer than its size.',
    200,
    `${CHUNKED_HEAD}1\r\nabc\r\n0\r\n\r\n`,
  ),
  'chunk-cut': defineClosingResponse('Responds 200 and closes within a chunk.', 200, `${CHUNKED_HEAD}ff\r\nabc`),
  'body-at-204': defineKeepOpenResponse(
    'Responds 204 with a body.',
    204,
    `${formatResponseHead('204 No Content', 'Content-Length: 5')}12345`,
  ),
  'body-at-304': defineKeepOpenResponse(
    'Responds 304 with a body.',
    304,
    `${formatResponseHead('304 Not Modified', 'Content-Length: 5')}12345`,
  ),
  'answer-twice': defineKeepOpenResponse('Responds 200 twice.', 200, EMPTY_200 + EMPTY_200),
  'answer-then-401': defineKeepOpenResponse(
    'Responds 200, then sends a 401 that belongs to no request.',
    200,
    `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n${formatResponseHead('401 Unauthorized', 'Content-Length: 0')}`,
  ),
  'keep-alive-surprise': {
    description: 'Responds 200 with keep-alive and later sends an unsolicited 408.',
    senderSees: 200,
    async run(connection) {
      connection.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n');
      await connection.wait(connection.deadlineMs / 4);
      connection.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n');
      await connection.senderClosed;
    },
  },
  'keep-alive-lie': defineClosingResponse(
    'Responds 200 with `Connection: keep-alive` and closes the connection.',
    200,
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\nKeep-Alive: timeout=600\r\n\r\n',
  ),
  'close-lie': defineKeepOpenResponse(
    'Responds 200 with `Connection: close` and keeps the connection open.',
    200,
    EMPTY_200,
  ),
});

/** A point of the exchange at which a connection can break. */
type BreakPoint = {
  readonly name: string;
  /** When the connection breaks, such as `after the request`. It ends the sentence of the description. */
  readonly when: string;
  readonly startsAt?: StartPhase;
  /** Bytes that are sent before the connection breaks. */
  readonly bytes?: string;
  readonly senderSees: SenderResult;
};

const BREAK_POINTS: readonly BreakPoint[] = [
  { name: 'on-connect', when: 'immediately after the connect', startsAt: 'connected', senderSees: 'reset' },
  { name: 'after-request-head', when: 'after the request head', startsAt: 'request-head', senderSees: 'reset' },
  { name: 'mid-request-body', when: 'within the request body', startsAt: 'request-body', senderSees: 'reset' },
  { name: 'after-request', when: 'after the request', senderSees: 'reset' },
  { name: 'mid-status-line', when: 'within the status line', bytes: 'HTTP/1.1 2', senderSees: 'reset' },
  { name: 'after-status-line', when: 'after the status line', bytes: 'HTTP/1.1 200 OK\r\n', senderSees: 'reset' },
  { name: 'mid-head', when: 'within a header', bytes: 'HTTP/1.1 200 OK\r\nContent-Le', senderSees: 'reset' },
  { name: 'mid-100', when: 'within a `100 Continue`', bytes: 'HTTP/1.1 100 Cont', senderSees: 'reset' },
  { name: 'after-100', when: 'after a `100 Continue`', bytes: 'HTTP/1.1 100 Continue\r\n\r\n', senderSees: 'reset' },
  {
    name: 'after-head',
    when: 'after the head of a 200',
    bytes: formatResponseHead('200 OK', 'Content-Length: 10'),
    senderSees: 200,
  },
  {
    name: 'mid-body',
    when: 'within the body of a 200',
    bytes: `${formatResponseHead('200 OK', 'Content-Length: 10')}12345`,
    senderSees: 200,
  },
];

const resetBehaviours = BREAK_POINTS.map(
  ({ name, when, startsAt = 'request', bytes, senderSees }): Behaviour => ({
    slug: `rst-${name}`,
    description: `Resets the connection (RST) ${when}.`,
    senderSees,
    startsAt,
    run: (connection) => connection.reset(bytes),
  }),
);

const closeBehaviours = BREAK_POINTS.map(
  ({ name, when, startsAt = 'request', bytes, senderSees }): Behaviour => ({
    slug: `fin-${name}`,
    description: `Closes the connection (FIN) ${when}.`,
    senderSees,
    startsAt,
    run: (connection) => connection.end(bytes),
  }),
);

const halfCloseBehaviours: readonly Behaviour[] = [
  {
    slug: 'half-close',
    description: 'Half-closes the connection immediately and continues to read.',
    senderSees: 'reset',
    startsAt: 'connected',
    async run(connection) {
      connection.end();
      await connection.senderClosed;
    },
  },
  {
    slug: 'half-close-after-answer',
    description: 'Responds 200, half-closes the connection and continues to read.',
    senderSees: 200,
    async run(connection) {
      connection.end(formatEmptyResponse('200 OK'));
      await connection.senderClosed;
    },
  },
];

/** Connections that are reset, closed or half-closed at each point of the exchange. */
export const brokenConnections: readonly Behaviour[] = [...resetBehaviours, ...closeBehaviours, ...halfCloseBehaviours];

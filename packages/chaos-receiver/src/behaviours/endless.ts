import { type Behaviour, type BehaviourBody, behavioursOf, responseHead } from '../behaviour.ts';

const KIB = 'a'.repeat(1_024);
const CHUNKED = responseHead('200 OK', 'Transfer-Encoding: chunked');

const flood = (start: string, repeated: string): Pick<Behaviour, 'run'> => ({
  async run(connection) {
    connection.write(start);
    await connection.writeRepeatedly(repeated);
  },
});

const interimFlood = (status: string, ...headers: readonly string[]): BehaviourBody => ({
  description: `Sends \`${status}\` endlessly.`,
  seenAs: 'protocol',
  ...flood('', [`HTTP/1.1 ${status}`, ...headers, '\r\n'].join('\r\n').repeat(50)),
});

/** Responses without an end, sent as fast as the sender reads. */
export const endless: readonly Behaviour[] = behavioursOf({
  'endless-body': {
    description: 'Responds 200 with an endless body without a length.',
    seenAs: 200,
    ...flood(responseHead('200 OK'), KIB.repeat(16)),
  },
  'endless-length': {
    description: 'Responds 200 with `Content-Length` of one terabyte, and sends it.',
    seenAs: 200,
    ...flood(responseHead('200 OK', 'Content-Length: 1000000000000'), KIB.repeat(16)),
  },
  'endless-chunks': {
    description: 'Responds 200 with endless chunks.',
    seenAs: 200,
    ...flood(CHUNKED, `400\r\n${KIB}\r\n`.repeat(16)),
  },
  'endless-tiny-chunks': {
    description: 'Responds 200 with endless chunks of one byte.',
    seenAs: 200,
    ...flood(CHUNKED, '1\r\na\r\n'.repeat(1_000)),
  },
  'endless-chunk-extension': {
    description: 'Responds 200 with an endless chunk extension.',
    seenAs: 200,
    ...flood(`${CHUNKED}1;x=`, KIB),
  },
  'endless-trailers': {
    description: 'Responds 200 with a complete chunked body and endless trailers.',
    seenAs: 200,
    ...flood(`${CHUNKED}1\r\na\r\n0\r\n`, 'X-Trailer: a\r\n'.repeat(50)),
  },
  'endless-headers': {
    description: 'Responds 200 with endless headers.',
    seenAs: 'protocol',
    ...flood('HTTP/1.1 200 OK\r\n', 'X-Many: a\r\n'.repeat(50)),
  },
  'endless-header-value': {
    description: 'Responds 200 with an endless header value.',
    seenAs: 'protocol',
    ...flood('HTTP/1.1 200 OK\r\nX-Long: ', KIB),
  },
  'endless-header-name': {
    description: 'Responds 200 with an endless header name.',
    seenAs: 'protocol',
    ...flood('HTTP/1.1 200 OK\r\nX-', KIB),
  },
  'endless-reason': {
    description: 'Responds 200 with an endless reason phrase.',
    seenAs: 'protocol',
    ...flood('HTTP/1.1 200 ', KIB),
  },
  'endless-line-ends': {
    description: 'Sends endless line ends, which parsers skip before a status line.',
    seenAs: 'protocol',
    ...flood('', '\r\n'.repeat(500)),
  },
  'flood-100': interimFlood('100 Continue'),
  'flood-102': interimFlood('102 Processing'),
  'flood-103': interimFlood('103 Early Hints', 'Link: </a>; rel=preload'),
});

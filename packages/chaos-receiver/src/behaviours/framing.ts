import { answers, type Behaviour, head, OK, rows, stays } from '../behaviour.ts';

const chunked = head('200 OK', 'Transfer-Encoding: chunked');

/** What an answer says of its own length, and how long it is. */
export const framing: readonly Behaviour[] = rows({
  'length-too-long': answers(
    'Answers 200, promises ten bytes, sends five and closes.',
    200,
    `${head('200 OK', 'Content-Length: 10')}12345`,
  ),
  'length-too-short': stays(
    'Answers 200, promises one byte and sends five.',
    200,
    `${head('200 OK', 'Content-Length: 1')}12345`,
  ),
  'length-negative': stays('Answers 200 with `Content-Length: -1`.', 'protocol', head('200 OK', 'Content-Length: -1')),
  'length-word': stays('Answers 200 with `Content-Length: many`.', 'protocol', head('200 OK', 'Content-Length: many')),
  'length-overflow': stays(
    'Answers 200 with a `Content-Length` of more than 64 bits.',
    'protocol',
    head('200 OK', `Content-Length: ${2n ** 64n}0`),
  ),
  'length-twice': stays(
    'Answers 200 with two different `Content-Length`.',
    'protocol',
    `${head('200 OK', 'Content-Length: 2', 'Content-Length: 5')}12345`,
  ),
  'length-and-chunked': stays(
    'Answers 200 with `Content-Length` and `Transfer-Encoding`, by which answers are smuggled.',
    'protocol',
    `${head('200 OK', 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  ),
  'encoding-unknown': stays(
    'Answers 200 with `Transfer-Encoding: origami`.',
    200,
    `${head('200 OK', 'Transfer-Encoding: origami')}abc`,
  ),
  'chunk-size-word': stays('Answers 200 and a chunk whose size is `zz`.', 200, `${chunked}zz\r\nabc\r\n`),
  'chunk-size-negative': stays('Answers 200 and a chunk whose size is `-1`.', 200, `${chunked}-1\r\nabc\r\n`),
  'chunk-size-overflow': stays(
    'Answers 200 and a chunk whose size takes more than 64 bits.',
    200,
    `${chunked}${'f'.repeat(17)}\r\nabc\r\n`,
  ),
  'chunk-too-short': stays(
    'Answers 200 and a chunk that is longer than its size.',
    200,
    `${chunked}1\r\nabc\r\n0\r\n\r\n`,
  ),
  'chunk-cut': answers('Answers 200 and closes in the middle of a chunk.', 200, `${chunked}ff\r\nabc`),
  'body-at-204': stays('Answers 204 with a body.', 204, `${head('204 No Content', 'Content-Length: 5')}12345`),
  'body-at-304': stays('Answers 304 with a body.', 304, `${head('304 Not Modified', 'Content-Length: 5')}12345`),
  'answer-twice': stays('Answers 200, and at once 200 again.', 200, OK + OK),
  'answer-then-401': stays(
    'Answers 200, and at once 401 behind it, which is an answer to nothing.',
    200,
    `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n${head('401 Unauthorized', 'Content-Length: 0')}`,
  ),
  'keep-alive-surprise': {
    says: 'Answers 200, keeps the connection, and says something on it later that nobody asked for.',
    sees: 200,
    async act(visit) {
      visit.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n');
      await visit.wait(visit.deadlineMs / 4);
      visit.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n');
      await visit.left;
    },
  },
  'keep-alive-lie': answers(
    'Answers 200, says that it keeps the connection, and closes it.',
    200,
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\nKeep-Alive: timeout=600\r\n\r\n',
  ),
  'close-lie': stays('Answers 200, says that it closes the connection, and keeps it open.', 200, OK),
});

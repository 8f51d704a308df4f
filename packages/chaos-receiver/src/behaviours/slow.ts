import {
  type Behaviour,
  defineKeepOpenResponse,
  EMPTY_200,
  formatEmptyResponse,
  formatResponseHead,
  toBehaviourList,
} from '../behaviour.ts';

const LONG_BODY_HEAD = formatResponseHead('200 OK', 'Content-Length: 1000000');

/** Behaviours that never respond or respond slowly. */
export const slowResponses: readonly Behaviour[] = toBehaviourList({
  hang: {
    description: 'Reads the request and never responds.',
    senderSees: 'timeout',
    run: (connection) => connection.senderClosed,
  },
  'hang-unread': {
    description: 'Accepts the connection, reads nothing and sends nothing.',
    senderSees: 'timeout',
    startsAt: 'connected',
    async run(connection) {
      connection.socket.pause();
      // A paused socket does not detect that the sender closes. So wait until the sender has timed out; the server then
      // resumes the socket.
      await connection.wait(1.5 * connection.deadlineMs);
    },
  },
  'slow-in-time': {
    description: 'Responds 200 two seconds before the deadline, or at half of it if that is later.',
    senderSees: 200,
    async run(connection) {
      await connection.wait(Math.max(connection.deadlineMs - 2_000, connection.deadlineMs / 2));
      connection.end(EMPTY_200);
    },
  },
  'slow-too-late': {
    description: 'Responds 200 after 1.25 times the deadline.',
    senderSees: 'timeout',
    async run(connection) {
      await connection.wait(connection.deadlineMs * 1.25);
      connection.end(EMPTY_200);
    },
  },
  'slow-401': {
    description: 'Responds 401 at half of the deadline.',
    senderSees: 401,
    async run(connection) {
      await connection.wait(connection.deadlineMs / 2);
      connection.end(formatEmptyResponse('401 Unauthorized'));
    },
  },
  'drip-in-time': {
    description: 'Responds 200 in single bytes, all of them within half of the deadline.',
    senderSees: 200,
    async run(connection) {
      await connection.drip(EMPTY_200, connection.deadlineMs / 2);
      connection.end();
    },
  },
  'drip-head': {
    description: 'Responds 200 and drips an endless header, one byte per `--pace`.',
    senderSees: 'timeout',
    async run(connection) {
      connection.write('HTTP/1.1 200 OK\r\nX-Slow: ');
      await connection.drip('a'.repeat(100_000));
    },
  },
  'drip-status': {
    description: 'Drips the status line, one byte per `--pace`.',
    senderSees: 'timeout',
    run: (connection) => connection.drip(`HTTP/1.1 200 ${'O'.repeat(100_000)}`),
  },
  'drip-body': {
    description: 'Responds 200 immediately and drips the body, one byte per `--pace`.',
    senderSees: 200,
    async run(connection) {
      connection.write(LONG_BODY_HEAD);
      await connection.drip('a'.repeat(100_000));
    },
  },
  'drip-chunks': {
    description: 'Responds 200 immediately and drips the body in chunks of one byte, one per `--pace`.',
    senderSees: 200,
    async run(connection) {
      connection.write(formatResponseHead('200 OK', 'Transfer-Encoding: chunked'));
      while (!connection.hasSenderClosed) {
        connection.write('1\r\na\r\n');
        await connection.wait(connection.paceMs);
      }
    },
  },
  'stall-status-line': defineKeepOpenResponse('Sends `HTTP/1.1 2` and stalls.', 'timeout', 'HTTP/1.1 2'),
  'stall-head': defineKeepOpenResponse(
    'Sends a status line and half of a header, and stalls.',
    'timeout',
    'HTTP/1.1 200 OK\r\nContent-Le',
  ),
  'stall-head-end': defineKeepOpenResponse(
    'Sends a head without its final empty line, and stalls.',
    'timeout',
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n',
  ),
  'stall-body': defineKeepOpenResponse(
    'Responds 200, sends half of the body, and stalls.',
    200,
    `${formatResponseHead('200 OK', 'Content-Length: 10')}12345`,
  ),
});

import { type Behaviour, head, OK, rows, stays } from '../behaviour.ts';

const SLOW_BODY = head('200 OK', 'Content-Length: 1000000');

/** Silence, and what comes drop by drop. */
export const slow: readonly Behaviour[] = rows({
  hang: {
    says: 'Reads the request and never answers.',
    sees: 'timeout',
    act: (visit) => visit.left,
  },
  'hang-unread': {
    says: 'Accepts the connection, reads nothing and says nothing.',
    sees: 'timeout',
    at: 'connected',
    async act(visit) {
      visit.socket.pause();
      // Only who reads notices that the sender has left; by then it will have.
      await visit.wait(1.5 * visit.deadlineMs);
    },
  },
  'slow-in-time': {
    says: 'Answers 200 two seconds before the deadline, or when half of it is over if that is later.',
    sees: 200,
    async act(visit) {
      await visit.wait(Math.max(visit.deadlineMs - 2_000, visit.deadlineMs / 2));
      visit.end(OK);
    },
  },
  'slow-too-late': {
    says: 'Answers 200 when the deadline has been over for a quarter of it.',
    sees: 'timeout',
    async act(visit) {
      await visit.wait(visit.deadlineMs * 1.25);
      visit.end(OK);
    },
  },
  'slow-401': {
    says: 'Answers 401 when half of the deadline is over.',
    sees: 401,
    async act(visit) {
      await visit.wait(visit.deadlineMs / 2);
      visit.end(head('401 Unauthorized', 'Content-Length: 0'));
    },
  },
  'drip-in-time': {
    says: 'Answers 200 in single bytes, all of them within half of the deadline.',
    sees: 200,
    async act(visit) {
      await visit.drip(OK, visit.deadlineMs / 2);
      visit.end();
    },
  },
  'drip-head': {
    says: 'Answers 200, one byte of the head at the pace of `--pace`, without end.',
    sees: 'timeout',
    async act(visit) {
      visit.write('HTTP/1.1 200 OK\r\nX-Slow: ');
      await visit.drip('a'.repeat(100_000));
    },
  },
  'drip-status': {
    says: 'Answers one byte of the status line at the pace of `--pace`.',
    sees: 'timeout',
    act: (visit) => visit.drip(`HTTP/1.1 200 ${'O'.repeat(100_000)}`),
  },
  'drip-body': {
    says: 'Answers 200 at once, and its body one byte at the pace of `--pace`.',
    sees: 200,
    async act(visit) {
      visit.write(SLOW_BODY);
      await visit.drip('a'.repeat(100_000));
    },
  },
  'drip-chunks': {
    says: 'Answers 200 at once, and its body in chunks of one byte at the pace of `--pace`.',
    sees: 200,
    async act(visit) {
      visit.write(head('200 OK', 'Transfer-Encoding: chunked'));
      while (!visit.isGone) {
        visit.write('1\r\na\r\n');
        await visit.wait(visit.paceMs);
      }
    },
  },
  'stall-status-line': stays('Says `HTTP/1.1 2` and nothing more.', 'timeout', 'HTTP/1.1 2'),
  'stall-head': stays(
    'Says a status line and half of a header, and nothing more.',
    'timeout',
    'HTTP/1.1 200 OK\r\nContent-Le',
  ),
  'stall-head-end': stays(
    'Says a whole head but for the line end that ends it.',
    'timeout',
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n',
  ),
  'stall-body': stays(
    'Answers 200 and half of its body, and nothing more.',
    200,
    `${head('200 OK', 'Content-Length: 10')}12345`,
  ),
});

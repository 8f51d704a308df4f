import { type Behaviour, behavioursOf, respond, respondAndKeepOpen } from '../behaviour.ts';

/** An empty SETTINGS frame: the first frame of an HTTP/2 server. */
const HTTP2_SETTINGS = '\0\0\0\x04\0\0\0\0\0';
const TLS_ALERT = '\x15\x03\x01\0\x02\x02\x46';

/** Receivers that use another protocol than HTTP/1.1. */
export const otherProtocols: readonly Behaviour[] = behavioursOf({
  garbage: {
    description: 'Sends 1 KiB of random bytes.',
    seenAs: 'protocol',
    run: (connection) => connection.end(Uint8Array.from({ length: 1_024 }, () => 128 + connection.random.below(128))),
  },
  'nul-bytes': respond('Sends 1 KiB of NUL bytes.', 'protocol', '\0'.repeat(1_024)),
  'http-0.9': respond('Sends a page without a head, as in HTTP/0.9.', 'protocol', '<html>Hello</html>\n'),
  'http-2': respond('Sends the first frame of an HTTP/2 server after the request.', 'protocol', HTTP2_SETTINGS),
  'http-2-unasked': respondAndKeepOpen(
    'Sends the first frame of an HTTP/2 server after the connect.',
    'protocol',
    HTTP2_SETTINGS,
    'connected',
  ),
  'tls-alert-in-plain': respond('Sends a TLS alert after a plain request.', 'protocol', TLS_ALERT),
  'request-back': respond(
    'Sends a request instead of a response.',
    'protocol',
    'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ),
  icy: respond('Sends `ICY 200 OK`, as SHOUTcast servers do.', 'protocol', 'ICY 200 OK\r\n\r\n'),
  smtp: respondAndKeepOpen(
    'Sends the greeting of an SMTP server after the connect.',
    'protocol',
    '220 mail.example ESMTP\r\n',
    'connected',
  ),
  ssh: respondAndKeepOpen(
    'Sends the greeting of an SSH server after the connect.',
    'protocol',
    'SSH-2.0-OpenSSH_9.9\r\n',
    'connected',
  ),
  echo: {
    description: 'Sends back all bytes that it receives.',
    seenAs: 'protocol',
    startsAt: 'first-bytes',
    async run(connection) {
      connection.socket.pipe(connection.socket);
      await connection.senderClosed;
    },
  },
});

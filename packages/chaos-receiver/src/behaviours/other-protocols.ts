import { answers, type Behaviour, rows, stays } from '../behaviour.ts';

/** SETTINGS without a setting, as an HTTP/2 server begins. */
const HTTP2_SETTINGS = '\0\0\0\x04\0\0\0\0\0';
const TLS_ALERT = '\x15\x03\x01\0\x02\x02\x46';

/** Those that speak something else. */
export const strangers: readonly Behaviour[] = rows({
  garbage: {
    says: 'Answers with a kilobyte of chance.',
    sees: 'protocol',
    act: (visit) => visit.end(Uint8Array.from({ length: 1_024 }, () => 128 + visit.chance.below(128))),
  },
  'nul-bytes': answers('Answers with a kilobyte of NUL.', 'protocol', '\0'.repeat(1_024)),
  'http-0.9': answers('Answers with a page and no head, as in HTTP/0.9.', 'protocol', '<html>Hello</html>\n'),
  'http-2': answers('Answers with the first frame of an HTTP/2 server.', 'protocol', HTTP2_SETTINGS),
  'http-2-unasked': stays(
    'Says the first frame of an HTTP/2 server as soon as it is connected.',
    'protocol',
    HTTP2_SETTINGS,
    'connected',
  ),
  'tls-alert-in-plain': answers('Answers a plain request with a TLS alert.', 'protocol', TLS_ALERT),
  'request-back': answers(
    'Answers with a request of its own.',
    'protocol',
    'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ),
  icy: answers('Answers `ICY 200 OK`, as radio stations do.', 'protocol', 'ICY 200 OK\r\n\r\n'),
  smtp: stays(
    'Greets as a mail server as soon as it is connected.',
    'protocol',
    '220 mail.example ESMTP\r\n',
    'connected',
  ),
  ssh: stays('Greets as an SSH server as soon as it is connected.', 'protocol', 'SSH-2.0-OpenSSH_9.9\r\n', 'connected'),
  echo: {
    says: 'Sends back what it is sent.',
    sees: 'protocol',
    at: 'greeted',
    async act(visit) {
      visit.socket.pipe(visit.socket);
      await visit.left;
    },
  },
});

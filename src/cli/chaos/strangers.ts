import { type Behaviour, type Moment, rows, type Seen } from './behaviour.ts';

const speaks = (
  says: string,
  bytes: string,
  { sees = 'protocol', at = 'asked' }: { sees?: Seen; at?: Moment } = {},
): Omit<Behaviour, 'slug'> => ({
  says,
  sees,
  at,
  act: (visit) => visit.end(bytes),
});

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
  'nul-bytes': speaks('Answers with a kilobyte of NUL.', '\0'.repeat(1_024)),
  'http-0.9': speaks('Answers with a page and no head, as in HTTP/0.9.', '<html>Hello</html>\n'),
  'http-2': speaks('Answers with the first frame of an HTTP/2 server.', HTTP2_SETTINGS),
  'http-2-unasked': {
    ...speaks('Says the first frame of an HTTP/2 server as soon as it is connected.', HTTP2_SETTINGS),
    at: 'connected',
    async act(visit) {
      visit.write(HTTP2_SETTINGS);
      await visit.left;
    },
  },
  'tls-alert-in-plain': speaks('Answers a plain request with a TLS alert.', TLS_ALERT),
  'request-back': speaks('Answers with a request of its own.', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
  icy: speaks('Answers `ICY 200 OK`, as radio stations do.', 'ICY 200 OK\r\n\r\n'),
  smtp: {
    ...speaks('Greets as a mail server as soon as it is connected.', ''),
    at: 'connected',
    async act(visit) {
      visit.write('220 mail.example ESMTP\r\n');
      await visit.left;
    },
  },
  ssh: {
    ...speaks('Greets as an SSH server as soon as it is connected.', ''),
    at: 'connected',
    async act(visit) {
      visit.write('SSH-2.0-OpenSSH_9.9\r\n');
      await visit.left;
    },
  },
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

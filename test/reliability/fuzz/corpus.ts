import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { formatRequest } from '../../kit/network/raw-http.ts';

/**
 * Bytes that are sent on a connection of their own. The service must respond with `statuses`, in this order, and
 * then close the connection.
 */
export type CorpusCase = { readonly what: string; readonly bytes: string; readonly statuses: readonly number[] };

const REJECTED_STATUSES = [400];
const JSON_BODY = '{"client_name":"Corpus"}';
const BODY_SIZE_HEX = JSON_BODY.length.toString(16);
const chunksOf = (size: string, end = '\r\n0\r\n\r\n') => `${size}\r\n${JSON_BODY}${end}`;
const CHUNKS = chunksOf(BODY_SIZE_HEX);
const LENGTH_HEADER = `content-length: ${JSON_BODY.length}`;
const CHUNKED_HEADER = 'transfer-encoding: chunked';

/** Returns all characters with codes from `from` to `to`. */
const characters = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCharCode(from + index));
const quote = (text: string) => JSON.stringify(text);

/**
 * Returns requests that are malformed, ambiguous (request smuggling), or only unusual. Each rejected request is
 * followed by a DELETE, which would take effect if it were read as a request.
 */
export function createCorpus(credentials: readonly string[], seed: number): readonly CorpusCase[] {
  const smuggledRequest = formatRequest(['DELETE /v2/clients/1 HTTP/1.1', 'host: x', ...credentials]);
  const rejected = (what: string, bytes: string): CorpusCase => ({
    what,
    bytes: bytes + smuggledRequest,
    statuses: REJECTED_STATUSES,
  });
  const last = ['host: x', ...credentials, 'connection: close'];
  const get = (what: string, lines: readonly string[], ...statuses: number[]): CorpusCase =>
    statuses.length === 0
      ? rejected(what, formatRequest(['GET /v2/user HTTP/1.1', ...lines, ...credentials]))
      : {
          what,
          bytes: formatRequest(['GET /v2/user HTTP/1.1', ...lines, ...credentials, 'connection: close']),
          statuses,
        };
  const post = (what: string, lines: readonly string[], body: string, ...statuses: number[]): CorpusCase => {
    const head = ['POST /v2/clients HTTP/1.1', 'host: x', ...credentials, ...lines];
    if (statuses.length === 0) return rejected(what, formatRequest(head, body));
    return { what, bytes: formatRequest([...head, 'connection: close'], body), statuses };
  };
  const line = (first: string, ...statuses: number[]): CorpusCase =>
    statuses.length === 0
      ? rejected(quote(first), formatRequest([first, 'host: x', ...credentials]))
      : { what: quote(first), bytes: formatRequest([first, ...last]), statuses };
  const at = (path: string, ...statuses: number[]) => line(`GET ${path} HTTP/1.1`, ...statuses);

  const framing: CorpusCase[] = [
    ...TRANSFER_ENCODING_LINES.flatMap((written) => [
      post(`${quote(written)} and a length`, [written, LENGTH_HEADER], CHUNKS),
      post(`a length and ${quote(written)}`, [LENGTH_HEADER, written], CHUNKS),
      post(`${quote(written)} alone`, [written], CHUNKS),
    ]),
    post('chunks and a length', [CHUNKED_HEADER, 'content-length: 4'], CHUNKS),
    post('a length and chunks', [LENGTH_HEADER, CHUNKED_HEADER], CHUNKS),
    post('chunks and no length at all', [CHUNKED_HEADER, 'content-length: 0'], CHUNKS),
    post('two transfer codings', [CHUNKED_HEADER, 'transfer-encoding: identity'], CHUNKS),
    post('the same transfer coding twice', [CHUNKED_HEADER, CHUNKED_HEADER], CHUNKS),
    rejected(
      'chunks of HTTP/1.0',
      formatRequest(['POST /v2/clients HTTP/1.0', ...credentials, CHUNKED_HEADER], CHUNKS),
    ),
    ...INVALID_LENGTHS.map((length) => post(`length ${quote(length)}`, [`content-length: ${length}`], JSON_BODY)),
    post('two lengths', [LENGTH_HEADER, 'content-length: 4'], JSON_BODY),
    post('the same length twice', [LENGTH_HEADER, LENGTH_HEADER], JSON_BODY),
    post('a length with zeros before it', [`content-length: 00${JSON_BODY.length}`], JSON_BODY, 201),
    ...INVALID_CHUNK_SIZES.map((size) => post(`chunk size ${quote(size)}`, [CHUNKED_HEADER], chunksOf(size))),
    ...INVALID_CHUNK_ENDS.map((end) =>
      post(`a chunk that ends with ${quote(end)}`, [CHUNKED_HEADER], chunksOf(BODY_SIZE_HEX, end)),
    ),
    post('a chunk longer than its size', [CHUNKED_HEADER], chunksOf('2')),
    post('chunks with bare line feeds', [CHUNKED_HEADER], CHUNKS.replaceAll('\r\n', '\n')),
    post('a line feed in a chunk extension', [CHUNKED_HEADER], CHUNKS.replace('\r\n', ';a\nb\r\n')),
    post('a line end in a quoted chunk extension', [CHUNKED_HEADER], CHUNKS.replace('\r\n', ';a="\r\n"\r\n')),
    post('an endless chunk extension', [CHUNKED_HEADER], CHUNKS.replace('\r\n', `;${'a'.repeat(20_000)}\r\n`), 400),
    ...['transfer-encoding: chunked', 'content-length: 5', 'x y', ' x: y'].map((trailer) =>
      post(`the trailer ${quote(trailer)}`, [CHUNKED_HEADER], chunksOf(BODY_SIZE_HEX, `\r\n0\r\n${trailer}\r\n\r\n`)),
    ),
    post('a chunk extension', [CHUNKED_HEADER], CHUNKS.replace('\r\n', ';a=b;c="d"\r\n'), 201),
    post('a trailer', [CHUNKED_HEADER], chunksOf(BODY_SIZE_HEX, '\r\n0\r\nkey: x\r\nhost: y\r\n\r\n'), 201),
    post(
      'one chunk for each octet',
      ['Transfer-Encoding: CHUNKED'],
      `${[...JSON_BODY].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`,
      201,
    ),
    post('a length of one octet less', [`content-length: ${JSON_BODY.length - 1}`], JSON_BODY, 400),
  ];

  const heads: CorpusCase[] = [
    ...characters(0, 32)
      .concat('\x7f', ...'()[]{}<>@,;\\"/?=', ...characters(128, 140))
      .map((sign) => get(`${quote(sign)} in the name of a header`, ['host: x', `x${sign}y: z`])),
    ...characters(0, 31)
      .filter((sign) => sign !== '\t')
      .concat('\x7f')
      .map((sign) => get(`${quote(sign)} in a header`, ['host: x', `x: a${sign}b`])),
    ...characters(0, 31)
      .filter((sign) => !'\t'.includes(sign))
      .map((sign) =>
        rejected(
          `${quote(sign)} in the key`,
          formatRequest(['GET /v2/user HTTP/1.1', 'host: x', `key: a${sign}${credentials[0]}`]),
        ),
      ),
    get('two hosts', ['host: x', 'host: y']),
    get('the same host twice', ['host: x', 'HOST: x']),
    get('no host', []),
    ...['x y', 'a/b', 'a@b', 'a#b', 'a?b', '\xff', '"x"', '<x>', 'a\\b'].map((host) =>
      get(`the host ${quote(host)}`, [`host: ${host}`]),
    ),
    get('a folded header', ['host: x', 'x: a', ' b']),
    get('a header folded by a tab', ['host: x', 'x: a', '\tb']),
    get('a folded first header', [' host: x', 'host: x']),
    get('a header without a colon', ['host: x', 'xyz']),
    get('a header without a name', ['host: x', ': y']),
    get('a space before the colon', ['host: x', 'x : y']),
    get('a tab before the colon', ['host: x', 'x\t: y']),
    get('a bare carriage return behind a header', ['host: x\r']),
    post('two content types', [LENGTH_HEADER, 'content-type: application/json', 'content-type: text/plain'], JSON_BODY),
    rejected(
      'bare line feeds',
      formatRequest(['GET /v2/user HTTP/1.1', 'host: x', ...credentials]).replaceAll('\r\n', '\n'),
    ),
    rejected(
      'bare carriage returns',
      formatRequest(['GET /v2/user HTTP/1.1', 'host: x', ...credentials]).replaceAll('\r\n', '\r'),
    ),
    get('a tab in a header', ['host: x', 'x: a\tb'], 200),
    get('latin in a header', ['host: x', 'x: \xe4\xff'], 200),
    get('an empty header', ['host: x', 'x:'], 200),
    get('an empty host', ['host:'], 200),
    get('the key twice', ['host: x', credentials[0] ?? ''], 401),
    get('the domain twice', ['host: x', credentials[1] ?? ''], 401),
    get('the domain twice, and another one', ['host: x', 'DOMAIN: other.test'], 401),
    get('headers of more than 16 KiB', ['host: x', `x: ${'x'.repeat(17_000)}`], 431),
    get('four thousand headers', ['host: x', ...Array.from({ length: 4_000 }, () => 'a:')], 431),
    get('a name of 17,000 letters', ['host: x', `${'x'.repeat(17_000)}: y`], 431),
    get('an upgrade', ['host: x', 'upgrade: h2c', 'http2-settings: x'], 200),
    post('an empty type', [LENGTH_HEADER, 'content-type:'], JSON_BODY, 201),
    post('a body that is packed', [LENGTH_HEADER, 'content-encoding: gzip'], JSON_BODY, 415),
    post('an expectation', [LENGTH_HEADER, 'expect: 100-continue'], JSON_BODY, 100, 201),
    post('an expectation that nobody knows', [LENGTH_HEADER, 'expect: miracles'], JSON_BODY, 201),
    post('a body of a terabyte', ['content-length: 1099511627776'], '', 413),
  ];

  const lines: CorpusCase[] = [
    ...REJECTED_LINES.map((first) => line(first)),
    ...characters(0, 31)
      .concat('\x7f', ...characters(128, 132), '\xff')
      .map((sign) => at(`/v2/us${sign}er`)),
    ...UNKNOWN_PATHS.map((path) => at(path, 404)),
    ...[
      '/v2/user',
      '/v2/user?',
      '/v2/user?x',
      '/v2/user?"<>`{}|^',
      '/%76%32/user',
      'http://evil.example/v2/user',
      'HTTP://X/v2/user',
      'https://x/v2/user',
    ].map((path) => at(path, 200)),
    ...['%ff', '%', '%zz', '%c3%28', '%ed%a0%80', '%f4%90%80%80', '%00', 'a%00', '%c0%af'].map((text) =>
      at(`/v2/clients?client_name=${text}`, 400),
    ),
    ...['PATCH', 'TRACE', 'OPTIONS', 'PROPFIND', 'PURGE', 'QUERY', 'RING', 'X-Y_Z', 'get', 'Get', 'SOURCE', 'BREW'].map(
      (method) => line(`${method} /v2/clients HTTP/1.1`, 404),
    ),
    line('TRACE /v2/user HTTP/1.1', 404),
    line('OPTIONS * HTTP/1.1', 404),
    line(`GET /v2/user?${'x'.repeat(8_300)} HTTP/1.1`, 414),
    line(`GET /${'x'.repeat(20_000)} HTTP/1.1`, 431),
  ];

  const pipelines: CorpusCase[] = [
    {
      what: 'two requests at once',
      bytes:
        formatRequest(['GET /v2/user HTTP/1.1', 'host: x', ...credentials]) +
        formatRequest(['GET /v2/company HTTP/1.1', ...last]),
      statuses: [200, 200],
    },
    {
      what: 'fifty at once',
      bytes:
        formatRequest(['GET /v2/user HTTP/1.1', 'host: x', ...credentials]).repeat(49) +
        formatRequest(['GET /v2/user HTTP/1.1', ...last]),
      statuses: Array.from({ length: 50 }, () => 200),
    },
    {
      what: 'one and half of another',
      bytes: `${formatRequest(['GET /v2/user HTTP/1.1', ...last])}GET /v2/cl`,
      statuses: [200],
    },
    {
      what: 'a request in the body of another',
      bytes: formatRequest(
        ['GET /v2/user HTTP/1.1', ...last, `content-length: ${smuggledRequest.length}`],
        smuggledRequest,
      ),
      statuses: [200],
    },
    {
      what: 'a request in the body of a creation',
      bytes: formatRequest(
        ['POST /v2/clients HTTP/1.1', ...last, `content-length: ${smuggledRequest.length}`],
        smuggledRequest,
      ),
      statuses: [400],
    },
    {
      what: 'a request behind one that ends the connection',
      bytes: formatRequest(['GET /v2/user HTTP/1.1', ...last]) + smuggledRequest,
      statuses: [200],
    },
    {
      what: 'a request, and then none',
      bytes: `${formatRequest(['GET /v2/user HTTP/1.1', 'host: x', ...credentials])}nonsense\r\n\r\n${smuggledRequest}`,
      statuses: [200, 400],
    },
    {
      what: 'empty lines first',
      bytes: `\r\n\r\n${formatRequest(['GET /v2/user HTTP/1.1', ...last])}`,
      statuses: [200],
    },
    { what: 'HTTP/1.0', bytes: formatRequest(['GET /v2/user HTTP/1.0', ...credentials]), statuses: [200] },
    {
      what: 'HTTP/1.0 that stays',
      bytes:
        formatRequest(['GET /v2/user HTTP/1.0', ...credentials, 'connection: keep-alive']) +
        formatRequest(['GET /v2/user HTTP/1.0', ...credentials]),
      statuses: [200, 200],
    },
  ];

  const random = seededRandom(seed);
  const noise = Array.from({ length: 60 }, (_, index): CorpusCase => {
    const bytes = Array.from({ length: 1 + random.integerBelow(200) }, () =>
      String.fromCharCode(random.integerBelow(256)),
    ).join('');
    // The first byte is not a letter, so that random bytes never form a method.
    return rejected(`noise ${index}`, `\x00${bytes}\r\n\r\n`);
  });
  return [
    ...framing,
    ...heads,
    ...lines,
    ...pipelines,
    ...OTHER_PROTOCOLS.map(([what, bytes]) => rejected(what, bytes)),
    ...noise,
  ];
}

/** Invalid transfer codings, and valid ones that the service does not support. */
const TRANSFER_ENCODING_LINES: readonly string[] = [
  ...[
    'xchunked',
    'chunkedx',
    'chunked, identity',
    'identity, chunked',
    'chunked, chunked',
    'gzip, chunked',
    'chunked, gzip',
    'gzip',
  ],
  ...[
    'cow',
    'identity',
    'chunked;q=1',
    '"chunked"',
    "'chunked'",
    'chunked,',
    ',chunked',
    'x, chunked',
    'chunked\x0b',
    '\x0bchunked',
  ],
  ...['chu nked', 'chunked\0', 'chunked\x7f', '\xa0chunked', 'chunked\r\n x', '\r\n chunked', ''],
]
  .map((value) => `transfer-encoding: ${value}`)
  .concat(
    'transfer-encoding : chunked',
    'transfer-encoding\t: chunked',
    'transfer-encoding\x0b: chunked',
    ' transfer-encoding: chunked',
    'x: y\ntransfer-encoding: chunked',
    'x: y\rtransfer-encoding: chunked',
    'transfer-encoding: chunked\n',
    'transfer-encoding\r\n : chunked',
    'transfer-encoding\0: chunked',
  );

const INVALID_LENGTHS = [
  '',
  '+24',
  '-24',
  '-0',
  '0x18',
  '24.0',
  '2.4e1',
  '1e1',
  '2 4',
  '24,',
  ',24',
  '24, 24',
  '24;',
  '"24"',
  '24\x0b',
  '\x0b24',
  '24\0',
  '٢٤',
  'many',
  'NaN',
  '18446744073709551640',
  '99999999999999999999',
  '24\r\n 0',
];
const INVALID_CHUNK_SIZES = [
  '',
  ';',
  '0x18',
  '+18',
  '-18',
  ' 18',
  '18 ',
  '18\t',
  '1 8',
  '18.',
  'zz',
  '1g',
  'ffffffffffffffff1',
  '10000000000000018',
  '18\0',
  '18\n',
  '18\r',
  '\r\n18',
  '18\x0b',
  '"18"',
];
const INVALID_CHUNK_ENDS = [
  '\n0\r\n\r\n',
  '\r0\r\n\r\n',
  '0\r\n\r\n',
  '\r\n0\n\r\n',
  '\r\nx\r\n\r\n',
  '\r\n-0\r\n\r\n',
  ' \r\n0\r\n\r\n',
  '\r\n0 \r\n\r\n',
];

const REJECTED_LINES: readonly string[] = [
  ...[
    'GET',
    'GET /v2/user',
    'GET /v2/user HTTP',
    'GET /v2/user HTTP/',
    'GET /v2/user HTTP/1',
    'GET /v2/user HTTP/1.',
    'GET /v2/user HTTP/1.10',
  ],
  ...[
    'GET /v2/user HTTP/1.2',
    'GET /v2/user HTTP/0.9',
    'GET /v2/user HTTP/2.0',
    'GET /v2/user HTTP/3.0',
    'GET /v2/user HTTP/01.1',
    'GET /v2/user HTTP/1.1x',
  ],
  ...[
    'GET /v2/user HTTP/-1.1',
    'GET /v2/user HTTP/1,1',
    'GET /v2/user http/1.1',
    'GET /v2/user HTTPS/1.1',
    'GET /v2/user ICE/1.0',
    'GET /v2/user HTTP/1.1 ',
    'GET /v2/user HTTP/1.1\t',
  ],
  ...[
    'DESCRIBE /v2/user RTSP/1.0',
    'SETUP /v2/user RTSP/1.0',
    'PLAY /v2/user RTSP/1.0',
    'TEARDOWN /v2/user RTSP/1.0',
    'RECORD /v2/user RTSP/1.0',
  ],
  ...[
    ' GET /v2/user HTTP/1.1',
    '\tGET /v2/user HTTP/1.1',
    'GET\t/v2/user\tHTTP/1.1',
    'GET /v2/us er HTTP/1.1',
    'GET /v2/user x HTTP/1.1',
    'GET v2/user HTTP/1.1',
  ],
  ...[
    'GET \\v2\\user HTTP/1.1',
    'GET * HTTP/1.1',
    'POST * HTTP/1.1',
    'GET ?x HTTP/1.1',
    'GET x:443 HTTP/1.1',
    'GET http:/v2/user HTTP/1.1',
    'GET http HTTP/1.1',
  ],
  ...[
    'CONNECT elsewhere.example:443 HTTP/1.1',
    'CONNECT /v2/user HTTP/1.1',
    'CONNECT http://x/ HTTP/1.1',
    'CONNECT x HTTP/1.1',
    'GET /v2/user#x HTTP/1.1',
    'GET /v2/user?x#y HTTP/1.1',
  ],
  ...[
    'G\0ET /v2/user HTTP/1.1',
    'GET,POST /v2/user HTTP/1.1',
    '"GET" /v2/user HTTP/1.1',
    'GET: /v2/user HTTP/1.1',
    'G(T /v2/user HTTP/1.1',
    '\xff /v2/user HTTP/1.1',
  ],
];

/** Unknown paths, which must not lead to another route. */
const UNKNOWN_PATHS: readonly string[] = [
  ...[
    '/v2/clients/%00',
    '/v2/clients/1%00',
    '/v2/clients/%ff',
    '/v2/clients/%',
    '/v2/clients/%zz',
    '/v2/clients/..',
    '/v2/clients/%2e%2e',
    '/v2/clients/%2e%2e%2fuser',
  ],
  ...[
    '/v2/clients/..%2fuser',
    '/v2/clients/../user',
    '/v2/./user',
    '/v2/../v2/user',
    '/v2//user',
    '//v2/user',
    '/v2/user/',
    '/v2/user//',
    '/v2%2fuser',
    '/v2\\user',
    '/v2/user%2f',
  ],
  ...[
    '/v2/user%00',
    '/v2/user;x',
    '/v2/user;jsessionid=1',
    '/v2/user.json',
    '/v2/User',
    '/V2/user',
    '/v2/user%20',
    '/v2/%75ser%23',
    '/v2',
    '/v2/',
    '/v1/user',
    '/v2/nowhere',
    '/v2/clients/1/2',
    '/v2/clients/%2F',
  ],
  ...[
    '/v2/__proto__',
    '/v2/constructor',
    '/v2/hasOwnProperty',
    '/v2/clients/__proto__',
    '/v2/clients/1e3',
    '/v2/clients/-1',
    '/v2/clients/9007199254740992',
    `/v2/clients/${'9'.repeat(300)}`,
  ],
  ...[
    '/.env',
    '/.git/config',
    '/etc/passwd',
    '/..%2f..%2fetc%2fpasswd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/assets/../../package.json',
    '/assets/%2e%2e/index.html',
    '/calendar/../v2/user',
  ],
  ...[
    '/calendar/%00.ics',
    '/calendar/x.ics',
    `/calendar/${'x'.repeat(43)}.ics`,
    '/problems/../x',
    'ftp://x/v2/user',
    'ws://x/v2/user',
    'http://x/v2//user',
    'http://x/nowhere',
  ],
];

const OTHER_PROTOCOLS: readonly (readonly [string, string])[] = [
  ['HTTP/0.9', 'GET /v2/user\r\n\r\n'],
  ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['frames of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64'],
  ['the beginning of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['the beginning of TLS 1.3 to a host', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03evil.example'],
  ['the beginning of SSH', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['the beginning of SMTP', 'EHLO evil.example\r\n'],
  ['Redis', '*1\r\n$4\r\nPING\r\n'],
  ['memcached', 'stats\r\n'],
  ['SIP', 'INVITE sip:x@evil.example SIP/2.0\r\n\r\n'],
  ['PROXY', 'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n'],
  ['PROXY 2', '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\0\x01\0\x02'],
  ['a WebSocket frame', '\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58'],
  ['no HTTP at all', 'hello there\r\n\r\n'],
  ['an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a byte order mark', '\xef\xbb\xbfGET /v2/user HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['UTF-16', 'G\0E\0T\0 \0/\0'],
  ['NUL alone', '\0\0\0\0'],
];

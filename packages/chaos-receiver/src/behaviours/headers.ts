import {
  type Behaviour,
  EMPTY_200,
  emptyResponse,
  respondAndKeepOpen,
  responseHead,
  toBehaviours,
} from '../behaviour.ts';

const withStatusLine = (text: string) => `${text}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
const withHeader = (text: string) => emptyResponse('200 OK', text);

/** Responses with unusual or invalid status lines and headers. */
export const unusualHeaders: readonly Behaviour[] = toBehaviours({
  'status-0': respondAndKeepOpen('Responds with status `000`.', 'protocol', withStatusLine('HTTP/1.1 000 Zero')),
  'status-99': respondAndKeepOpen('Responds with status `099`.', 'protocol', withStatusLine('HTTP/1.1 099 Too Low')),
  'status-600': respondAndKeepOpen(
    'Responds with status `600`, which HTTP does not define.',
    600,
    withStatusLine('HTTP/1.1 600 Too High'),
  ),
  'status-999': respondAndKeepOpen(
    'Responds with status `999`, which HTTP does not define.',
    999,
    withStatusLine('HTTP/1.1 999 Too High'),
  ),
  'status-2000': respondAndKeepOpen('Responds with status `2000`.', 'protocol', withStatusLine('HTTP/1.1 2000 OK')),
  'status-20': respondAndKeepOpen('Responds with status `20`.', 'protocol', withStatusLine('HTTP/1.1 20 OK')),
  'status-negative': respondAndKeepOpen('Responds with status `-200`.', 'protocol', withStatusLine('HTTP/1.1 -200 OK')),
  'status-word': respondAndKeepOpen('Responds with status `abc`.', 'protocol', withStatusLine('HTTP/1.1 abc OK')),
  'status-missing': respondAndKeepOpen(
    'Responds with a status line that ends after the version.',
    'protocol',
    withStatusLine('HTTP/1.1'),
  ),
  'reason-none': respondAndKeepOpen('Responds 200 without a reason phrase.', 200, withStatusLine('HTTP/1.1 200')),
  'reason-lies': respondAndKeepOpen(
    'Responds `200 Internal Server Error`; the number counts.',
    200,
    withStatusLine('HTTP/1.1 200 Internal Server Error'),
  ),
  'reason-500-ok': respondAndKeepOpen('Responds `500 OK`; the number counts.', 500, withStatusLine('HTTP/1.1 500 OK')),
  'reason-utf8': respondAndKeepOpen(
    'Responds 200 with a reason phrase in UTF-8.',
    200,
    withStatusLine(`HTTP/1.1 200 ${Buffer.from('✓ 很好').toString('latin1')}`),
  ),
  'reason-huge': respondAndKeepOpen(
    'Responds 200 with a reason phrase of 1 MiB.',
    'protocol',
    withStatusLine(`HTTP/1.1 200 ${'O'.repeat(1_048_576)}`),
  ),
  'version-1.0': respondAndKeepOpen('Responds 200 with version HTTP/1.0.', 200, withStatusLine('HTTP/1.0 200 OK')),
  'version-2.0': respondAndKeepOpen(
    'Responds 200 with version HTTP/2.0 in a text status line.',
    200,
    withStatusLine('HTTP/2.0 200 OK'),
  ),
  'version-9.9': respondAndKeepOpen(
    'Responds 200 with version HTTP/9.9.',
    'protocol',
    withStatusLine('HTTP/9.9 200 OK'),
  ),
  'line-ends-lf': respondAndKeepOpen(
    'Responds 200 with LF instead of CRLF.',
    'protocol',
    EMPTY_200.replaceAll('\r\n', '\n'),
  ),
  'header-nul': respondAndKeepOpen('Responds 200 with a NUL byte in a header.', 'protocol', withHeader('X-Nul: a\0b')),
  'header-cr': respondAndKeepOpen(
    'Responds 200 with a carriage return in a header.',
    'protocol',
    withHeader('X-Return: a\rb: c'),
  ),
  'header-folded': respondAndKeepOpen(
    'Responds 200 with a folded header, which HTTP deprecates.',
    'protocol',
    withHeader('X-Folded: a\r\n b'),
  ),
  'header-no-colon': respondAndKeepOpen(
    'Responds 200 with a header without a colon.',
    'protocol',
    withHeader('nonsense'),
  ),
  'header-no-name': respondAndKeepOpen(
    'Responds 200 with a header without a name.',
    'protocol',
    withHeader(': nameless'),
  ),
  'header-space': respondAndKeepOpen(
    'Responds 200 with a space before the colon of a header.',
    'protocol',
    withHeader('X-Space : a'),
  ),
  'header-utf8': respondAndKeepOpen(
    'Responds 200 with a header in UTF-8.',
    200,
    withHeader(`X-Text: ${Buffer.from('ünïcödé').toString('latin1')}`),
  ),
  'header-prototype': respondAndKeepOpen(
    'Responds 200 with the headers `__proto__` and `constructor`.',
    200,
    withHeader('__proto__: a\r\nconstructor: b'),
  ),
  'header-huge': respondAndKeepOpen(
    'Responds 200 with a header of 100 KB.',
    'protocol',
    withHeader(`X-Huge: ${'a'.repeat(100_000)}`),
  ),
  'headers-many': respondAndKeepOpen(
    'Responds 200 with 5,000 headers.',
    'protocol',
    withHeader(`${'X-Many: a\r\n'.repeat(4_999)}X-Last: a`),
  ),
  'headers-8k': respondAndKeepOpen(
    'Responds 200 with a head of 8 KiB, which is within common limits.',
    200,
    withHeader(`X-Big: ${'a'.repeat(8_000)}`),
  ),
  'headers-twice': respondAndKeepOpen(
    'Responds 200 with every header twice.',
    200,
    `${responseHead('200 OK', 'Server: a', 'Server: b', 'Date: now', 'Date: then', 'Content-Length: 0')}`,
  ),
  'set-cookie-many': respondAndKeepOpen(
    'Responds 200 and sets 200 cookies.',
    200,
    withHeader(Array.from({ length: 200 }, (_, index) => `Set-Cookie: crumb${index}=a; Path=/`).join('\r\n')),
  ),
  'interim-100': respondAndKeepOpen(
    'Sends `100 Continue`, then 200.',
    200,
    `HTTP/1.1 100 Continue\r\n\r\n${EMPTY_200}`,
  ),
  'interim-102': respondAndKeepOpen(
    'Sends `102 Processing`, then 200.',
    200,
    `HTTP/1.1 102 Processing\r\n\r\n${EMPTY_200}`,
  ),
  'interim-103': respondAndKeepOpen(
    'Sends `103 Early Hints`, then 200.',
    200,
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${EMPTY_200}`,
  ),
  'interim-many': respondAndKeepOpen(
    'Sends 30 interim responses, then 200.',
    200,
    `${'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10)}${EMPTY_200}`,
  ),
  'interim-401': respondAndKeepOpen(
    'Sends `100 Continue`, then 401.',
    401,
    `HTTP/1.1 100 Continue\r\n\r\n${emptyResponse('401 Unauthorized')}`,
  ),
  'interim-huge': respondAndKeepOpen(
    'Sends `100 Continue` with a head of 20 KB, then 200.',
    'protocol',
    `HTTP/1.1 100 Continue\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n${EMPTY_200}`,
  ),
  'interim-199': respondAndKeepOpen(
    'Sends the undefined interim status `199`, then 200.',
    200,
    `HTTP/1.1 199 Mystery\r\n\r\n${EMPTY_200}`,
  ),
  'upgrade-websocket': respondAndKeepOpen(
    'Responds 101 and sends a WebSocket frame.',
    'protocol',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello',
  ),
  'upgrade-nothing': respondAndKeepOpen(
    'Responds 101 without an `Upgrade` header.',
    'protocol',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  ),
  'early-200': respondAndKeepOpen(
    'Responds 200 after the request head, before it reads the body.',
    200,
    EMPTY_200,
    'request-head',
  ),
  'early-401': respondAndKeepOpen(
    'Responds 401 after the request head, before it reads the body.',
    401,
    emptyResponse('401 Unauthorized'),
    'request-head',
  ),
  'early-413': respondAndKeepOpen(
    'Responds 413 after the request head, before it reads the body.',
    413,
    emptyResponse('413 Content Too Large'),
    'request-head',
  ),
  'answer-unasked': respondAndKeepOpen(
    'Responds 200 after the connect, before it reads a request.',
    200,
    EMPTY_200,
    'connected',
  ),
});

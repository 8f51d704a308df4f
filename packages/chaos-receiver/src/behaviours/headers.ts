import {
  type Behaviour,
  defineKeepOpenResponse,
  EMPTY_200,
  formatEmptyResponse,
  formatResponseHead,
  toBehaviourList,
} from '../behaviour.ts';

const formatResponseWithStatusLine = (statusLine: string) =>
  `${statusLine}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
const formatResponseWithHeader = (headerLine: string) => formatEmptyResponse('200 OK', headerLine);

/** Responses with unusual or invalid status lines and headers. */
export const unusualHeaders: readonly Behaviour[] = toBehaviourList({
  'status-0': defineKeepOpenResponse(
    'Responds with status `000`.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1 000 Zero'),
  ),
  'status-99': defineKeepOpenResponse(
    'Responds with status `099`.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1 099 Too Low'),
  ),
  'status-600': defineKeepOpenResponse(
    'Responds with status `600`, which HTTP does not define.',
    600,
    formatResponseWithStatusLine('HTTP/1.1 600 Too High'),
  ),
  'status-999': defineKeepOpenResponse(
    'Responds with status `999`, which HTTP does not define.',
    999,
    formatResponseWithStatusLine('HTTP/1.1 999 Too High'),
  ),
  'status-2000': defineKeepOpenResponse(
    'Responds with status `2000`.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1 2000 OK'),
  ),
  'status-20': defineKeepOpenResponse(
    'Responds with status `20`.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1 20 OK'),
  ),
  'status-negative': defineKeepOpenResponse(
    'Responds with status `-200`.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1 -200 OK'),
  ),
  'status-word': defineKeepOpenResponse(
    'Responds with status `abc`.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1 abc OK'),
  ),
  'status-missing': defineKeepOpenResponse(
    'Responds with a status line that ends after the version.',
    'protocol',
    formatResponseWithStatusLine('HTTP/1.1'),
  ),
  'reason-none': defineKeepOpenResponse(
    'Responds 200 without a reason phrase.',
    200,
    formatResponseWithStatusLine('HTTP/1.1 200'),
  ),
  'reason-lies': defineKeepOpenResponse(
    'Responds `200 Internal Server Error`; the number counts.',
    200,
    formatResponseWithStatusLine('HTTP/1.1 200 Internal Server Error'),
  ),
  'reason-500-ok': defineKeepOpenResponse(
    'Responds `500 OK`; the number counts.',
    500,
    formatResponseWithStatusLine('HTTP/1.1 500 OK'),
  ),
  'reason-utf8': defineKeepOpenResponse(
    'Responds 200 with a reason phrase in UTF-8.',
    200,
    formatResponseWithStatusLine(`HTTP/1.1 200 ${Buffer.from('✓ 很好').toString('latin1')}`),
  ),
  'reason-huge': defineKeepOpenResponse(
    'Responds 200 with a reason phrase of 1 MiB.',
    'protocol',
    formatResponseWithStatusLine(`HTTP/1.1 200 ${'O'.repeat(1_048_576)}`),
  ),
  'version-1.0': defineKeepOpenResponse(
    'Responds 200 with version HTTP/1.0.',
    200,
    formatResponseWithStatusLine('HTTP/1.0 200 OK'),
  ),
  'version-2.0': defineKeepOpenResponse(
    'Responds 200 with version HTTP/2.0 in a text status line.',
    200,
    formatResponseWithStatusLine('HTTP/2.0 200 OK'),
  ),
  'version-9.9': defineKeepOpenResponse(
    'Responds 200 with version HTTP/9.9.',
    'protocol',
    formatResponseWithStatusLine('HTTP/9.9 200 OK'),
  ),
  'line-ends-lf': defineKeepOpenResponse(
    'Responds 200 with LF instead of CRLF.',
    'protocol',
    EMPTY_200.replaceAll('\r\n', '\n'),
  ),
  'header-nul': defineKeepOpenResponse(
    'Responds 200 with a NUL byte in a header.',
    'protocol',
    formatResponseWithHeader('X-Nul: a\0b'),
  ),
  'header-cr': defineKeepOpenResponse(
    'Responds 200 with a carriage return in a header.',
    'protocol',
    formatResponseWithHeader('X-Return: a\rb: c'),
  ),
  'header-folded': defineKeepOpenResponse(
    'Responds 200 with a folded header, which HTTP deprecates.',
    'protocol',
    formatResponseWithHeader('X-Folded: a\r\n b'),
  ),
  'header-no-colon': defineKeepOpenResponse(
    'Responds 200 with a header without a colon.',
    'protocol',
    formatResponseWithHeader('nonsense'),
  ),
  'header-no-name': defineKeepOpenResponse(
    'Responds 200 with a header without a name.',
    'protocol',
    formatResponseWithHeader(': nameless'),
  ),
  'header-space': defineKeepOpenResponse(
    'Responds 200 with a space before the colon of a header.',
    'protocol',
    formatResponseWithHeader('X-Space : a'),
  ),
  'header-utf8': defineKeepOpenResponse(
    'Responds 200 with a header in UTF-8.',
    200,
    formatResponseWithHeader(`X-Text: ${Buffer.from('ünïcödé').toString('latin1')}`),
  ),
  'header-prototype': defineKeepOpenResponse(
    'Responds 200 with the headers `__proto__` and `constructor`.',
    200,
    formatResponseWithHeader('__proto__: a\r\nconstructor: b'),
  ),
  'header-huge': defineKeepOpenResponse(
    'Responds 200 with a header of 100 KB.',
    'protocol',
    formatResponseWithHeader(`X-Huge: ${'a'.repeat(100_000)}`),
  ),
  'headers-many': defineKeepOpenResponse(
    'Responds 200 with 5,000 headers.',
    'protocol',
    formatResponseWithHeader(`${'X-Many: a\r\n'.repeat(4_999)}X-Last: a`),
  ),
  'headers-8k': defineKeepOpenResponse(
    'Responds 200 with a head of 8 KiB, which is within common limits.',
    200,
    formatResponseWithHeader(`X-Big: ${'a'.repeat(8_000)}`),
  ),
  'headers-twice': defineKeepOpenResponse(
    'Responds 200 with every header twice.',
    200,
    `${formatResponseHead('200 OK', 'Server: a', 'Server: b', 'Date: now', 'Date: then', 'Content-Length: 0')}`,
  ),
  'set-cookie-many': defineKeepOpenResponse(
    'Responds 200 and sets 200 cookies.',
    200,
    formatResponseWithHeader(
      Array.from({ length: 200 }, (_, index) => `Set-Cookie: crumb${index}=a; Path=/`).join('\r\n'),
    ),
  ),
  'interim-100': defineKeepOpenResponse(
    'Sends `100 Continue`, then 200.',
    200,
    `HTTP/1.1 100 Continue\r\n\r\n${EMPTY_200}`,
  ),
  'interim-102': defineKeepOpenResponse(
    'Sends `102 Processing`, then 200.',
    200,
    `HTTP/1.1 102 Processing\r\n\r\n${EMPTY_200}`,
  ),
  'interim-103': defineKeepOpenResponse(
    'Sends `103 Early Hints`, then 200.',
    200,
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${EMPTY_200}`,
  ),
  'interim-many': defineKeepOpenResponse(
    'Sends 30 interim responses, then 200.',
    200,
    `${'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10)}${EMPTY_200}`,
  ),
  'interim-401': defineKeepOpenResponse(
    'Sends `100 Continue`, then 401.',
    401,
    `HTTP/1.1 100 Continue\r\n\r\n${formatEmptyResponse('401 Unauthorized')}`,
  ),
  'interim-huge': defineKeepOpenResponse(
    'Sends `100 Continue` with a head of 20 KB, then 200.',
    'protocol',
    `HTTP/1.1 100 Continue\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n${EMPTY_200}`,
  ),
  'interim-199': defineKeepOpenResponse(
    'Sends the undefined interim status `199`, then 200.',
    200,
    `HTTP/1.1 199 Mystery\r\n\r\n${EMPTY_200}`,
  ),
  'upgrade-websocket': defineKeepOpenResponse(
    'Responds 101 and sends a WebSocket frame.',
    'protocol',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello',
  ),
  'upgrade-nothing': defineKeepOpenResponse(
    'Responds 101 without an `Upgrade` header.',
    'protocol',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  ),
  'early-200': defineKeepOpenResponse(
    'Responds 200 after the request head, before it reads the body.',
    200,
    EMPTY_200,
    'request-head',
  ),
  'early-401': defineKeepOpenResponse(
    'Responds 401 after the request head, before it reads the body.',
    401,
    formatEmptyResponse('401 Unauthorized'),
    'request-head',
  ),
  'early-413': defineKeepOpenResponse(
    'Responds 413 after the request head, before it reads the body.',
    413,
    formatEmptyResponse('413 Content Too Large'),
    'request-head',
  ),
  'answer-unasked': defineKeepOpenResponse(
    'Responds 200 after the connect, before it reads a request.',
    200,
    EMPTY_200,
    'connected',
  ),
});

import { type Behaviour, bare, head, OK, rows, stays } from '../behaviour.ts';

const line = (text: string) => `${text}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
const withHeader = (text: string) => bare('200 OK', text);

/** Status lines and headers as nobody should write them. */
export const heads: readonly Behaviour[] = rows({
  'status-0': stays('Answers with status `000`.', 'protocol', line('HTTP/1.1 000 Zero')),
  'status-99': stays('Answers with status `099`.', 'protocol', line('HTTP/1.1 099 Too Low')),
  'status-600': stays('Answers with status `600`, which is none of HTTP.', 600, line('HTTP/1.1 600 Too High')),
  'status-999': stays('Answers with status `999`, which is none of HTTP.', 999, line('HTTP/1.1 999 Too High')),
  'status-2000': stays('Answers with status `2000`.', 'protocol', line('HTTP/1.1 2000 OK')),
  'status-20': stays('Answers with status `20`.', 'protocol', line('HTTP/1.1 20 OK')),
  'status-negative': stays('Answers with status `-200`.', 'protocol', line('HTTP/1.1 -200 OK')),
  'status-word': stays('Answers with status `abc`.', 'protocol', line('HTTP/1.1 abc OK')),
  'status-missing': stays('Answers with a status line that ends behind the version.', 'protocol', line('HTTP/1.1')),
  'reason-none': stays('Answers 200 without a reason.', 200, line('HTTP/1.1 200')),
  'reason-lies': stays(
    'Answers `200 Internal Server Error`; the number is what counts.',
    200,
    line('HTTP/1.1 200 Internal Server Error'),
  ),
  'reason-500-ok': stays('Answers `500 OK`; the number is what counts.', 500, line('HTTP/1.1 500 OK')),
  'reason-utf8': stays(
    'Answers 200 with a reason in UTF-8.',
    200,
    line(`HTTP/1.1 200 ${Buffer.from('✓ 很好').toString('latin1')}`),
  ),
  'reason-huge': stays(
    'Answers 200 with a reason of 1 MiB.',
    'protocol',
    line(`HTTP/1.1 200 ${'O'.repeat(1_048_576)}`),
  ),
  'version-1.0': stays('Answers 200 in HTTP/1.0.', 200, line('HTTP/1.0 200 OK')),
  'version-2.0': stays('Answers 200 as text in HTTP/2.0.', 200, line('HTTP/2.0 200 OK')),
  'version-9.9': stays('Answers 200 in HTTP/9.9.', 'protocol', line('HTTP/9.9 200 OK')),
  'line-ends-lf': stays(
    'Answers 200 with bare line feeds in place of line ends.',
    'protocol',
    OK.replaceAll('\r\n', '\n'),
  ),
  'header-nul': stays('Answers 200 with a NUL in a header.', 'protocol', withHeader('X-Nul: a\0b')),
  'header-cr': stays('Answers 200 with a carriage return in a header.', 'protocol', withHeader('X-Return: a\rb: c')),
  'header-folded': stays(
    'Answers 200 with a header folded over two lines, as nobody does any more.',
    'protocol',
    withHeader('X-Folded: a\r\n b'),
  ),
  'header-no-colon': stays('Answers 200 with a header without a colon.', 'protocol', withHeader('nonsense')),
  'header-no-name': stays('Answers 200 with a header without a name.', 'protocol', withHeader(': nameless')),
  'header-space': stays(
    'Answers 200 with a space before the colon of a header.',
    'protocol',
    withHeader('X-Space : a'),
  ),
  'header-utf8': stays(
    'Answers 200 with a header in UTF-8.',
    200,
    withHeader(`X-Text: ${Buffer.from('ünïcödé').toString('latin1')}`),
  ),
  'header-prototype': stays(
    'Answers 200 with headers called `__proto__` and `constructor`.',
    200,
    withHeader('__proto__: a\r\nconstructor: b'),
  ),
  'header-huge': stays(
    'Answers 200 with a header of 100 KB.',
    'protocol',
    withHeader(`X-Huge: ${'a'.repeat(100_000)}`),
  ),
  'headers-many': stays(
    'Answers 200 with 5,000 headers.',
    'protocol',
    withHeader(`${'X-Many: a\r\n'.repeat(4_999)}X-Last: a`),
  ),
  'headers-8k': stays(
    'Answers 200 with a head of 8 KiB, which is much, and not too much.',
    200,
    withHeader(`X-Big: ${'a'.repeat(8_000)}`),
  ),
  'headers-twice': stays(
    'Answers 200 with every header twice.',
    200,
    `${head('200 OK', 'Server: a', 'Server: b', 'Date: now', 'Date: then', 'Content-Length: 0')}`,
  ),
  'set-cookie-many': stays(
    'Answers 200 and sets 200 cookies.',
    200,
    withHeader(Array.from({ length: 200 }, (_, index) => `Set-Cookie: crumb${index}=a; Path=/`).join('\r\n')),
  ),
  'interim-100': stays('Says `100 Continue`, then 200.', 200, `HTTP/1.1 100 Continue\r\n\r\n${OK}`),
  'interim-102': stays('Says `102 Processing`, then 200.', 200, `HTTP/1.1 102 Processing\r\n\r\n${OK}`),
  'interim-103': stays(
    'Says `103 Early Hints` with a link, then 200.',
    200,
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`,
  ),
  'interim-many': stays(
    'Says 30 interim answers of every kind, then 200.',
    200,
    `${'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10)}${OK}`,
  ),
  'interim-401': stays(
    'Says `100 Continue`, then 401.',
    401,
    `HTTP/1.1 100 Continue\r\n\r\n${bare('401 Unauthorized')}`,
  ),
  'interim-huge': stays(
    'Says a `100 Continue` with a head of 20 KB, then 200.',
    'protocol',
    `HTTP/1.1 100 Continue\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n${OK}`,
  ),
  'interim-199': stays(
    'Says `199`, an interim answer that nobody knows, then 200.',
    200,
    `HTTP/1.1 199 Mystery\r\n\r\n${OK}`,
  ),
  'upgrade-websocket': stays(
    'Answers 101 and takes the connection for a WebSocket.',
    'protocol',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello',
  ),
  'upgrade-nothing': stays(
    'Answers 101 without saying to what.',
    'protocol',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  ),
  'early-200': stays('Answers 200 when the head of the request is here, before it has read the body.', 200, OK, 'head'),
  'early-401': stays(
    'Answers 401 when the head of the request is here, before it has read the body.',
    401,
    bare('401 Unauthorized'),
    'head',
  ),
  'early-413': stays(
    'Answers 413 when the head of the request is here, before it has read the body.',
    413,
    bare('413 Content Too Large'),
    'head',
  ),
  'answer-unasked': stays(
    'Answers 200 as soon as it is connected, before it was asked anything.',
    200,
    OK,
    'connected',
  ),
});

import { type Behaviour, head, rows } from '../behaviour.ts';

const KIB = 'a'.repeat(1_024);

const pours = (start: string, again: string): Pick<Behaviour, 'act'> => ({
  async act(visit) {
    visit.write(start);
    await visit.pour(again);
  },
});

const interims = (line: string): Omit<Behaviour, 'slug'> => ({
  says: `Says \`${line}\` again and again, as fast as it is read.`,
  sees: 'protocol',
  ...pours('', `HTTP/1.1 ${line}\r\n\r\n`.repeat(50)),
});

/** What has no end, as fast as it is read. */
export const endless: readonly Behaviour[] = rows({
  'endless-body': {
    says: 'Answers 200 and a body without length and without end.',
    sees: 200,
    ...pours(head('200 OK'), KIB.repeat(16)),
  },
  'endless-length': {
    says: 'Answers 200 and a body that is a terabyte long, as it says itself.',
    sees: 200,
    ...pours(head('200 OK', 'Content-Length: 1000000000000'), KIB.repeat(16)),
  },
  'endless-chunks': {
    says: 'Answers 200 and chunks without end.',
    sees: 200,
    ...pours(head('200 OK', 'Transfer-Encoding: chunked'), `400\r\n${KIB}\r\n`.repeat(16)),
  },
  'endless-tiny-chunks': {
    says: 'Answers 200 and chunks of one byte without end.',
    sees: 200,
    ...pours(head('200 OK', 'Transfer-Encoding: chunked'), '1\r\na\r\n'.repeat(1_000)),
  },
  'endless-chunk-extension': {
    says: 'Answers 200 and a first chunk whose extension never ends.',
    sees: 200,
    ...pours(`${head('200 OK', 'Transfer-Encoding: chunked')}1;x=`, KIB),
  },
  'endless-trailers': {
    says: 'Answers 200, a whole chunked body and trailers without end.',
    sees: 200,
    ...pours(`${head('200 OK', 'Transfer-Encoding: chunked')}1\r\na\r\n0\r\n`, 'X-Trailer: a\r\n'.repeat(50)),
  },
  'endless-headers': {
    says: 'Answers 200 and headers without end.',
    sees: 'protocol',
    ...pours('HTTP/1.1 200 OK\r\n', 'X-Many: a\r\n'.repeat(50)),
  },
  'endless-header-value': {
    says: 'Answers 200 and one header whose value never ends.',
    sees: 'protocol',
    ...pours('HTTP/1.1 200 OK\r\nX-Long: ', KIB),
  },
  'endless-header-name': {
    says: 'Answers 200 and one header whose name never ends.',
    sees: 'protocol',
    ...pours('HTTP/1.1 200 OK\r\nX-', KIB),
  },
  'endless-reason': {
    says: 'Answers 200 with a reason that never ends.',
    sees: 'protocol',
    ...pours('HTTP/1.1 200 ', KIB),
  },
  'endless-line-ends': {
    says: 'Says line ends without end, which a reader passes over before a status line.',
    sees: 'protocol',
    ...pours('', '\r\n'.repeat(500)),
  },
  'flood-100': interims('100 Continue'),
  'flood-102': interims('102 Processing'),
  'flood-103': {
    ...interims('103 Early Hints'),
    ...pours('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'.repeat(50)),
  },
});

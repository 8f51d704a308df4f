import { promisify } from 'node:util';
import {
  type BrotliOptions,
  brotliCompress,
  constants,
  deflate,
  gzip,
  type ZlibOptions,
  zstdCompress,
} from 'node:zlib';
import { type Behaviour, type BehaviourDefinition, formatResponseHead, toBehaviourList } from '../behaviour.ts';

const KIB_OF_TEXT = 'a'.repeat(1_024);
const CHUNKED_HEAD = formatResponseHead('200 OK', 'Transfer-Encoding: chunked');

/** Creates a `run` that sends `prefix` once, and then `repeatedText` until the sender closes the connection. */
const defineFlood = (prefix: string, repeatedText: string): Pick<Behaviour, 'run'> => ({
  async run(connection) {
    connection.write(prefix);
    await connection.writeRepeatedly(repeatedText);
  },
});

/** Creates a behaviour that sends interim responses (1xx) with this status endlessly. */
const defineInterimFlood = (status: string, ...headers: readonly string[]): BehaviourDefinition => ({
  description: `Sends \`${status}\` endlessly.`,
  senderSees: 'protocol',
  ...defineFlood('', [`HTTP/1.1 ${status}`, ...headers, '\r\n'].join('\r\n').repeat(50)),
});

/** Endless responses, which are sent as fast as the sender reads. */
export const endlessResponses: readonly Behaviour[] = toBehaviourList({
  'endless-body': {
    description: 'Responds 200 with an endless body without a length.',
    senderSees: 200,
    ...defineFlood(formatResponseHead('200 OK'), KIB_OF_TEXT.repeat(16)),
  },
  'endless-length': {
    description: 'Responds 200 with `Content-Length` of one terabyte, and sends it.',
    senderSees: 200,
    ...defineFlood(formatResponseHead('200 OK', 'Content-Length: 1000000000000'), KIB_OF_TEXT.repeat(16)),
  },
  'endless-chunks': {
    description: 'Responds 200 with endless chunks.',
    senderSees: 200,
    ...defineFlood(CHUNKED_HEAD, `400\r\n${KIB_OF_TEXT}\r\n`.repeat(16)),
  },
  'endless-tiny-chunks': {
    description: 'Responds 200 with endless chunks of one byte.',
    senderSees: 200,
    ...defineFlood(CHUNKED_HEAD, '1\r\na\r\n'.repeat(1_000)),
  },
  'endless-chunk-extension': {
    description: 'Responds 200 with an endless chunk extension.',
    senderSees: 200,
    ...defineFlood(`${CHUNKED_HEAD}1;x=`, KIB_OF_TEXT),
  },
  'endless-trailers': {
    description: 'Responds 200 with a complete chunked body and endless trailers.',
    senderSees: 200,
    ...defineFlood(`${CHUNKED_HEAD}1\r\na\r\n0\r\n`, 'X-Trailer: a\r\n'.repeat(50)),
  },
  'endless-headers': {
    description: 'Responds 200 with endless headers.',
    senderSees: 'protocol',
    ...defineFlood('HTTP/1.1 200 OK\r\n', 'X-Many: a\r\n'.repeat(50)),
  },
  'endless-header-value': {
    description: 'Responds 200 with an endless header value.',
    senderSees: 'protocol',
    ...defineFlood('HTTP/1.1 200 OK\r\nX-Long: ', KIB_OF_TEXT),
  },
  'endless-header-name': {
    description: 'Responds 200 with an endless header name.',
    senderSees: 'protocol',
    ...defineFlood('HTTP/1.1 200 OK\r\nX-', KIB_OF_TEXT),
  },
  'endless-reason': {
    description: 'Responds 200 with an endless reason phrase.',
    senderSees: 'protocol',
    ...defineFlood('HTTP/1.1 200 ', KIB_OF_TEXT),
  },
  'endless-line-ends': {
    description: 'Sends endless line ends, which parsers skip before a status line.',
    senderSees: 'protocol',
    ...defineFlood('', '\r\n'.repeat(500)),
  },
  'flood-100': defineInterimFlood('100 Continue'),
  'flood-102': defineInterimFlood('102 Processing'),
  'flood-103': defineInterimFlood('103 Early Hints', 'Link: </a>; rel=preload'),
});

const ZERO_BUFFER_BYTES = 64 * 1_024 * 1_024;

/** Returns a function that compresses zeros at the first call and caches the result. */
function createCachedCompression(compress: (zeros: Buffer) => Promise<Buffer>): () => Promise<Buffer> {
  let compressedZeros: Promise<Buffer> | undefined;
  return () => {
    compressedZeros ??= compress(Buffer.alloc(ZERO_BUFFER_BYTES));
    return compressedZeros;
  };
}

const bestZlibOptions: ZlibOptions = { level: 9 };
const fastBrotliOptions: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const compressGzip = (bytes: Buffer) => promisify<Buffer, ZlibOptions, Buffer>(gzip)(bytes, bestZlibOptions);
const getGzippedZeros = createCachedCompression(compressGzip);
const getDeflatedZeros = createCachedCompression((zeros) =>
  promisify<Buffer, ZlibOptions, Buffer>(deflate)(zeros, bestZlibOptions),
);
const getBrotliZeros = createCachedCompression((zeros) =>
  promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)(zeros, fastBrotliOptions),
);
const getZstandardZeros = createCachedCompression((zeros) => promisify<Buffer, Buffer>(zstdCompress)(zeros));
const getTwiceGzippedZeros = createCachedCompression(async () => {
  const gzippedOnce = await getGzippedZeros();
  return compressGzip(Buffer.concat(Array.from({ length: 160 }, () => gzippedOnce)));
});

type CompressionBomb = {
  readonly encoding: string;
  readonly getCompressedBytes: () => Promise<Buffer>;
  /** Number of times the content is sent; default 1. Decoders of gzip and Zstandard read the copies as one stream. */
  readonly repeatCount?: number;
  /** Size and content of the decompressed body. It ends the sentence of the description. */
  readonly sizeDescription: string;
};

const defineCompressionBomb = ({
  encoding,
  getCompressedBytes,
  repeatCount = 1,
  sizeDescription,
}: CompressionBomb): BehaviourDefinition => ({
  description: `Responds 200 with \`Content-Encoding: ${encoding}\` and a body that decompresses to ${sizeDescription}.`,
  senderSees: 200,
  async run(connection) {
    connection.write(formatResponseHead('200 OK', `Content-Encoding: ${encoding}`));
    const bytes = await Promise.race([getCompressedBytes(), connection.senderClosed]);
    if (bytes !== undefined) await connection.writeRepeatedly(bytes, repeatCount);
    connection.end();
  },
});

/** Compression bombs: bodies that are small on the wire and very large when decompressed. */
export const compressionBombs: readonly Behaviour[] = toBehaviourList({
  'bomb-gzip': defineCompressionBomb({
    encoding: 'gzip',
    getCompressedBytes: getGzippedZeros,
    repeatCount: 160,
    sizeDescription: '10 GiB of zeros',
  }),
  'bomb-gzip-twice': defineCompressionBomb({
    encoding: 'gzip, gzip',
    getCompressedBytes: getTwiceGzippedZeros,
    sizeDescription: '10 GiB of zeros, from less than 100 KiB',
  }),
  'bomb-deflate': defineCompressionBomb({
    encoding: 'deflate',
    getCompressedBytes: getDeflatedZeros,
    sizeDescription: '64 MiB of zeros',
  }),
  'bomb-br': defineCompressionBomb({
    encoding: 'br',
    getCompressedBytes: getBrotliZeros,
    sizeDescription: '64 MiB of zeros, from a few hundred bytes',
  }),
  'bomb-zstd': defineCompressionBomb({
    encoding: 'zstd',
    getCompressedBytes: getZstandardZeros,
    repeatCount: 160,
    sizeDescription: '10 GiB of zeros',
  }),
});

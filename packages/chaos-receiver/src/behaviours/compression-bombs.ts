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
import { type Behaviour, type BehaviourBody, behavioursOf, responseHead } from '../behaviour.ts';

const ZEROS_BYTES = 64 * 1_024 * 1_024;

/** Compresses zeros at the first use, and caches the result. */
function compressed(compress: (zeros: Buffer) => Promise<Buffer>): () => Promise<Buffer> {
  let cached: Promise<Buffer> | undefined;
  return () => {
    cached ??= compress(Buffer.alloc(ZEROS_BYTES));
    return cached;
  };
}

const bestCompression: ZlibOptions = { level: 9 };
const fastCompression: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const gzipOf = (bytes: Buffer) => promisify<Buffer, ZlibOptions, Buffer>(gzip)(bytes, bestCompression);
const gzipped = compressed(gzipOf);
const deflated = compressed((zeros) => promisify<Buffer, ZlibOptions, Buffer>(deflate)(zeros, bestCompression));
const brotli = compressed((zeros) => promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)(zeros, fastCompression));
const zstandard = compressed((zeros) => promisify<Buffer, Buffer>(zstdCompress)(zeros));
const gzippedTwice = compressed(async () => {
  const once = await gzipped();
  return gzipOf(Buffer.concat(Array.from({ length: 160 }, () => once)));
});

type Bomb = {
  readonly encoding: string;
  readonly content: () => Promise<Buffer>;
  /** How often the content is repeated: gzip and Zstandard read concatenated streams as one. */
  readonly times?: number;
  readonly size: string;
};

const bomb = ({ encoding, content, times = 1, size }: Bomb): BehaviourBody => ({
  description: `Responds 200 with \`Content-Encoding: ${encoding}\` and a body that decompresses to ${size}.`,
  seenAs: 200,
  async run(connection) {
    connection.write(responseHead('200 OK', `Content-Encoding: ${encoding}`));
    const bytes = await Promise.race([content(), connection.senderClosed]);
    if (bytes !== undefined) await connection.writeRepeatedly(bytes, times);
    connection.end();
  },
});

/** Few bytes on the wire, many in memory. */
export const compressionBombs: readonly Behaviour[] = behavioursOf({
  'bomb-gzip': bomb({ encoding: 'gzip', content: gzipped, times: 160, size: '10 GiB of zeros' }),
  'bomb-gzip-twice': bomb({
    encoding: 'gzip, gzip',
    content: gzippedTwice,
    size: '10 GiB of zeros, from less than 100 KiB',
  }),
  'bomb-deflate': bomb({ encoding: 'deflate', content: deflated, size: '64 MiB of zeros' }),
  'bomb-br': bomb({ encoding: 'br', content: brotli, size: '64 MiB of zeros, from a few hundred bytes' }),
  'bomb-zstd': bomb({ encoding: 'zstd', content: zstandard, times: 160, size: '10 GiB of zeros' }),
});

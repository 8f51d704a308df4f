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
import { type Behaviour, head, rows } from '../behaviour.ts';

const ZEROS_BYTES = 64 * 1_024 * 1_024;

/** Packed when somebody asks for it, beside everything else, and kept. */
function packed(pack: (zeros: Buffer) => Promise<Buffer>): () => Promise<Buffer> {
  let made: Promise<Buffer> | undefined;
  return () => {
    made ??= pack(Buffer.alloc(ZEROS_BYTES));
    return made;
  };
}

const tight: ZlibOptions = { level: 9 };
const quick: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const gzipped = packed((zeros) => promisify<Buffer, ZlibOptions, Buffer>(gzip)(zeros, tight));
const deflated = packed((zeros) => promisify<Buffer, ZlibOptions, Buffer>(deflate)(zeros, tight));
const brotlied = packed((zeros) => promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)(zeros, quick));
const zstandard = packed((zeros) => promisify<Buffer, Buffer>(zstdCompress)(zeros));
const gzippedTwice = packed(async () => {
  const once = await gzipped();
  return promisify<Buffer, ZlibOptions, Buffer>(gzip)(Buffer.concat(Array.from({ length: 160 }, () => once)), tight);
});

/** @param times how often it stands one behind the other, which some formats read as one */
const bomb = (
  encoding: string,
  content: () => Promise<Buffer>,
  times: number,
  size: string,
  packed = '',
): Omit<Behaviour, 'slug'> => ({
  says: `Answers 200 and \`Content-Encoding: ${encoding}\`: a body that unpacks to ${size} of zeros${packed}.`,
  sees: 200,
  async act(visit) {
    visit.write(head('200 OK', `Content-Encoding: ${encoding}`));
    const bytes = await Promise.race([content(), visit.left]);
    if (bytes !== undefined) await visit.pour(bytes, times);
    visit.end();
  },
});

/** Little on the wire, much in memory. */
export const bombs: readonly Behaviour[] = rows({
  'bomb-gzip': bomb('gzip', gzipped, 160, '10 GiB'),
  'bomb-gzip-twice': bomb('gzip, gzip', gzippedTwice, 1, '10 GiB', ', packed twice into less than 100 KiB'),
  'bomb-deflate': bomb('deflate', deflated, 1, '64 MiB'),
  'bomb-br': bomb('br', brotlied, 1, '64 MiB', ', from a few hundred bytes'),
  'bomb-zstd': bomb('zstd', zstandard, 160, '10 GiB'),
});

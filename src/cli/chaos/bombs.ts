import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Behaviour, head, rows } from './behaviour.ts';

const MIB = 1_024 * 1_024;
const ZEROS_BYTES = 64 * MIB;

/** Packed when somebody asks for it, and kept. */
function packed(pack: (zeros: Buffer) => Buffer): () => Buffer {
  let made: Buffer | undefined;
  return () => {
    made ??= pack(Buffer.alloc(ZEROS_BYTES));
    return made;
  };
}

const gzip = packed((zeros) => gzipSync(zeros, { level: 9 }));
const deflate = packed((zeros) => deflateSync(zeros, { level: 9 }));
const brotli = packed((zeros) => brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }));
const zstd = packed((zeros) => zstdCompressSync(zeros));
const gzipTwice = packed(() => gzipSync(Buffer.concat(Array.from({ length: 160 }, gzip)), { level: 9 }));

/** @param times how often it stands one behind the other, which some formats read as one */
const bomb = (encoding: string, content: () => Buffer, times: number, size: string): Omit<Behaviour, 'slug'> => ({
  says: `Answers 200 and \`Content-Encoding: ${encoding}\`: a body that unpacks to ${size} of zeros.`,
  sees: 200,
  async act(visit) {
    const bytes = content();
    visit.write(head('200 OK', `Content-Encoding: ${encoding}`, `Content-Length: ${bytes.length * times}`));
    await visit.pour(bytes, times);
    visit.end();
  },
});

/** Little on the wire, much in memory. */
export const bombs: readonly Behaviour[] = rows({
  'bomb-gzip': bomb('gzip', gzip, 160, '10 GiB'),
  'bomb-gzip-twice': bomb('gzip, gzip', gzipTwice, 1, '10 GiB, packed twice into less than 100 KiB'),
  'bomb-deflate': bomb('deflate', deflate, 1, '64 MiB'),
  'bomb-br': bomb('br', brotli, 1, '64 MiB, from a few hundred bytes'),
  'bomb-zstd': bomb('zstd', zstd, 160, '10 GiB'),
});

import type { Socket } from 'node:net';

/** What has arrived of a request. */
export type Asked = {
  readonly method: string;
  readonly path: string;
  /** By their names in lower case; of several of the same name, all of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of its body. */
  readonly body: string;
  readonly bodyBytes: number;
};

/** What is kept of a request; what comes behind is counted. */
const MOST_KEPT_BYTES = 64 * 1_024;
const MOST_SHOWN_BYTES = 2_048;

/** Reads one request as it comes: any sender's, so nothing is required of it but a head. */
export class RequestReader {
  #kept: Buffer = Buffer.alloc(0);
  /** The last bytes, by which a chunked body is known to be whole. */
  #last: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #headEnd = -1;
  #headers: Readonly<Record<string, string>> = {};
  #changed = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, MOST_KEPT_BYTES - this.#kept.length)]);
      this.#last = Buffer.concat([this.#last, chunk]).subarray(-5);
      if (this.#headEnd < 0) this.#findHead();
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    });
  }

  /** Resolves with true when so much of it is here, with false when the sender leaves before. */
  async has(what: 'head' | 'body' | 'asked', left: Promise<void>): Promise<boolean> {
    let gone = false;
    const leaving = left.then(() => {
      gone = true;
    });
    while (!this.#isHere(what)) {
      if (gone) return false;
      await Promise.race([this.#changed.promise, leaving]);
    }
    return true;
  }

  #findHead(): void {
    this.#headEnd = this.#kept.indexOf('\r\n\r\n');
    if (this.#headEnd >= 0) this.#headers = headersIn(this.#kept.toString('latin1', 0, this.#headEnd));
  }

  #isHere(what: 'head' | 'body' | 'asked'): boolean {
    if (this.#headEnd < 0) return false;
    if (what === 'head' || this.#isWhole()) return true;
    return what === 'body' && this.#bodyBytes > 0;
  }

  get #bodyBytes(): number {
    return this.#headEnd < 0 ? 0 : this.#bytes - this.#headEnd - 4;
  }

  #isWhole(): boolean {
    const { 'content-length': length = '0', 'transfer-encoding': encoding = '' } = this.#headers;
    if (encoding !== '') return this.#bodyBytes >= 5 && this.#last.toString('latin1') === '0\r\n\r\n';
    return this.#bodyBytes >= Number(length);
  }

  /** Whether the sender waits to be told to go on with the body (RFC 9110, 10.1.1). */
  get expectsContinue(): boolean {
    return this.#headers.expect?.toLowerCase() === '100-continue';
  }

  /** What is here by now. */
  get asked(): Asked {
    const end = this.#headEnd < 0 ? this.#kept.length : this.#headEnd;
    const [line = ''] = this.#kept.toString('latin1', 0, end).split('\r\n');
    const [method = '', path = ''] = line.split(' ');
    const body = this.#headEnd < 0 ? '' : this.#kept.toString('utf8', end + 4, end + 4 + MOST_SHOWN_BYTES);
    return { method, path, headers: this.#headers, body, bodyBytes: this.#bodyBytes };
  }
}

function headersIn(text: string): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const line of text.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

import type { Socket } from 'node:net';

/** The part of a request that has arrived when a behaviour starts. */
export type ReceivedRequest = {
  readonly method: string;
  readonly path: string;
  /** Headers by name in lower case. Headers of the same name are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes of the body, decoded as UTF-8. */
  readonly body: string;
  /** Number of bytes of the body that have arrived. `body` contains only the first of them. */
  readonly bodyBytes: number;
};

/** Maximum number of bytes of a request that are kept in memory. The receiver only counts further bytes. */
const MAX_STORED_BYTES = 64 * 1_024;
const MAX_REPORTED_BODY_BYTES = 2_048;

/** A part of a request to wait for. The part `request-body` has arrived with the first byte of the body. */
type RequestPart = 'request-head' | 'request-body' | 'request';

/** Reads one request leniently: it only requires a request head, since senders may misbehave as well. */
export class RequestReader {
  #storedBytes: Buffer = Buffer.alloc(0);
  /** The last five bytes of the request, which show the end of a chunked body. */
  #lastBytes: Buffer = Buffer.alloc(0);
  #receivedByteCount = 0;
  #headEndOffset = -1;
  #headers: Readonly<Record<string, string>> = {};
  #nextChunkArrival = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.#receivedByteCount += chunk.length;
      this.#storedBytes = Buffer.concat([
        this.#storedBytes,
        chunk.subarray(0, MAX_STORED_BYTES - this.#storedBytes.length),
      ]);
      this.#lastBytes = Buffer.concat([this.#lastBytes, chunk]).subarray(-5);
      if (this.#headEndOffset < 0) this.#detectHeadEnd();
      this.#nextChunkArrival.resolve();
      this.#nextChunkArrival = Promise.withResolvers();
    });
  }

  /** Resolves to true when the part has arrived, and to false if the sender closes the connection before. */
  async waitForPart(part: RequestPart, senderClosed: Promise<void>): Promise<boolean> {
    let hasSenderClosed = false;
    const senderClosing = senderClosed.then(() => {
      hasSenderClosed = true;
    });
    while (!this.#hasArrived(part)) {
      if (hasSenderClosed) return false;
      await Promise.race([this.#nextChunkArrival.promise, senderClosing]);
    }
    return true;
  }

  #detectHeadEnd(): void {
    this.#headEndOffset = this.#storedBytes.indexOf('\r\n\r\n');
    if (this.#headEndOffset >= 0)
      this.#headers = parseHeaders(this.#storedBytes.toString('latin1', 0, this.#headEndOffset));
  }

  #hasArrived(part: RequestPart): boolean {
    if (this.#headEndOffset < 0) return false;
    if (part === 'request-head' || this.#isComplete()) return true;
    return part === 'request-body' && this.#bodyByteCount > 0;
  }

  get #bodyByteCount(): number {
    return this.#headEndOffset < 0 ? 0 : this.#receivedByteCount - this.#headEndOffset - 4;
  }

  #isComplete(): boolean {
    const { 'content-length': contentLength = '0', 'transfer-encoding': transferEncoding = '' } = this.#headers;
    if (transferEncoding !== '') return this.#bodyByteCount >= 5 && this.#lastBytes.toString('latin1') === '0\r\n\r\n';
    return this.#bodyByteCount >= Number(contentLength);
  }

  /** Whether the sender waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1). */
  get expectsContinue(): boolean {
    return this.#headers.expect?.toLowerCase() === '100-continue';
  }

  get request(): ReceivedRequest {
    const headLength = this.#headEndOffset < 0 ? this.#storedBytes.length : this.#headEndOffset;
    const [requestLine = ''] = this.#storedBytes.toString('latin1', 0, headLength).split('\r\n');
    const [method = '', path = ''] = requestLine.split(' ');
    const body =
      this.#headEndOffset < 0
        ? ''
        : this.#storedBytes.toString('utf8', headLength + 4, headLength + 4 + MAX_REPORTED_BODY_BYTES);
    return { method, path, headers: this.#headers, body, bodyBytes: this.#bodyByteCount };
  }
}

function parseHeaders(head: string): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const line of head.split('\r\n').slice(1)) {
    const colonIndex = line.indexOf(':');
    const name = line.slice(0, colonIndex).trim().toLowerCase();
    const value = line.slice(colonIndex + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

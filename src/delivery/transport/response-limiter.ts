import type { Socket } from 'node:net';

/** Maximum number of bytes that are read of one response, head and body. */
const MAX_RESPONSE_BYTES = 64 * 1_024;
/** Maximum size of a response head. */
export const MAX_HEAD_BYTES = 16 * 1_024;
/**
 * Size of the chunks that undici gets. The chunks are small, because undici parses a chunk to its end, slowly, even
 * after it has detected that the head is too large.
 */
const CHUNK_BYTES = 2_048;
const HEAD_TERMINATOR = '\r\n\r\n';
/** Matches the start of an interim response (1xx except 101). */
const INTERIM_PATTERN = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
/** Completes the start of a response that has arrived only in part, so that INTERIM_PATTERN can match the start. */
const SAMPLE_INTERIM_START = 'HTTP/1.1 100 ';

/**
 * Limits the bytes that undici reads of a response, and removes interim responses. undici breaks the connection
 * at a `100 Continue` (8.12), although a client must ignore interim responses (RFC 9110, 15.2) and some servers
 * send one before each response to a POST. `101` is kept: it switches protocols. Without the limit, a flood of
 * interim responses would be read as fast as it arrives and leave no time for other targets (C22).
 */
export class ResponseLimiter {
  readonly #socket: Socket;
  readonly #originalRead: Socket['read'];
  #onLimitExceeded: () => void = () => undefined;
  #buffer: Buffer = Buffer.alloc(0);
  #byteCount = 0;
  #hasFinalResponse = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#originalRead = socket.read;
    socket.read = () => this.#readNextChunk();
  }

  /** Starts the next response. `onLimitExceeded` is called when the response exceeds MAX_RESPONSE_BYTES. */
  beginResponse(onLimitExceeded: () => void): void {
    this.#onLimitExceeded = onLimitExceeded;
    this.#byteCount = 0;
    this.#hasFinalResponse = false;
  }

  /** Bytes read of the current response. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** Whether no unread bytes are buffered. */
  get isBufferEmpty(): boolean {
    return this.#buffer.length === 0;
  }

  #readNextChunk(): Buffer | null {
    while (!this.#hasFinalResponse) {
      if (!this.#bufferNextChunk()) return null;
      this.#dropInterimResponses();
    }
    if (this.#buffer.length === 0 && !this.#bufferNextChunk()) return null;
    const nextChunk = this.#buffer.subarray(0, CHUNK_BYTES);
    this.#buffer = this.#buffer.subarray(CHUNK_BYTES);
    return this.#socket.destroyed ? null : nextChunk;
  }

  /** Reads the next chunk of the socket into the buffer. Returns false if there is none. */
  #bufferNextChunk(): boolean {
    if (this.#byteCount >= MAX_RESPONSE_BYTES) this.#onLimitExceeded();
    const chunk: Buffer | null = this.#socket.destroyed ? null : this.#originalRead.call(this.#socket);
    if (chunk === null) return false;
    this.#byteCount += chunk.length;
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    return true;
  }

  #dropInterimResponses(): void {
    let headEnd = this.#buffer.indexOf(HEAD_TERMINATOR);
    while (this.#startsWithInterimResponse() && headEnd >= 0 && headEnd < MAX_HEAD_BYTES) {
      this.#buffer = this.#buffer.subarray(headEnd + HEAD_TERMINATOR.length);
      headEnd = this.#buffer.indexOf(HEAD_TERMINATOR);
    }
    this.#hasFinalResponse = !this.#startsWithInterimResponse() || this.#buffer.length >= MAX_HEAD_BYTES;
  }

  #startsWithInterimResponse(): boolean {
    const responseStart = this.#buffer.toString('latin1', 0, SAMPLE_INTERIM_START.length);
    return INTERIM_PATTERN.test(responseStart + SAMPLE_INTERIM_START.slice(responseStart.length));
  }
}

/** Maximum bytes of the body of a failure that are kept (C21). */
const MAX_RESPONSE_TEXT_BYTES = 1_024;

/** The beginning of a response body. */
export class ResponseText {
  readonly #chunks: Buffer[] = [];
  #byteCount = 0;

  /** Adds a chunk. Returns whether MAX_RESPONSE_TEXT_BYTES are reached. */
  add(chunk: Buffer): boolean {
    const keptChunk = chunk.subarray(0, MAX_RESPONSE_TEXT_BYTES - this.#byteCount);
    this.#chunks.push(keptChunk);
    this.#byteCount += keptChunk.length;
    return this.#byteCount >= MAX_RESPONSE_TEXT_BYTES;
  }

  /** Returns the text. A character that the limit has cut is left out. */
  toString(): string {
    return new TextDecoder().decode(Buffer.concat(this.#chunks), { stream: true });
  }
}

import type { Socket } from 'node:net';

/** Maximum number of bytes that are read of one response, head and body. */
const MAX_RESPONSE_BYTES = 64 * 1_024;
/** Maximum size of a response head. */
export const MAX_HEAD_BYTES = 16 * 1_024;
/**
 * Size of the chunks that undici gets. It parses a chunk to its end, slowly, even after it has found the head too
 * large.
 */
const CHUNK_BYTES = 2_048;
const HEAD_END = '\r\n\r\n';
/** Matches the start of an interim response (1xx except 101). */
const INTERIM_PATTERN = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
/** Text that completes the start of a response that has only arrived in part, before it is matched. */
const SAMPLE_INTERIM_START = 'HTTP/1.1 100 ';

/**
 * Limits the bytes that undici reads of a response, and removes interim responses. undici breaks the connection
 * at a `100 Continue` (8.12), although a client must ignore interim responses (RFC 9110, 15.2) and some servers
 * send one before each response to a POST. `101` is kept: it switches protocols. Without the limit, a flood of
 * interim responses would be read as fast as it arrives and leave no time for other targets (C22).
 */
export class ResponseLimiter {
  readonly #socket: Socket;
  readonly #read: Socket['read'];
  #onLimit: () => void = () => undefined;
  #buffer: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #isFinal = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#read = socket.read;
    socket.read = () => this.#readNext();
  }

  /** Starts the next response. `onLimit` is called when it exceeds MAX_RESPONSE_BYTES. */
  beginResponse(onLimit: () => void): void {
    this.#onLimit = onLimit;
    this.#bytes = 0;
    this.#isFinal = false;
  }

  /** Bytes read of the current response. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether no unread bytes are buffered. */
  get isEmpty(): boolean {
    return this.#buffer.length === 0;
  }

  #readNext(): Buffer | null {
    while (!this.#isFinal) {
      if (!this.#readMore()) return null;
      this.#dropInterim();
    }
    if (this.#buffer.length === 0 && !this.#readMore()) return null;
    const part = this.#buffer.subarray(0, CHUNK_BYTES);
    this.#buffer = this.#buffer.subarray(CHUNK_BYTES);
    return this.#socket.destroyed ? null : part;
  }

  #readMore(): boolean {
    if (this.#bytes >= MAX_RESPONSE_BYTES) this.#onLimit();
    const chunk: Buffer | null = this.#socket.destroyed ? null : this.#read.call(this.#socket);
    if (chunk === null) return false;
    this.#bytes += chunk.length;
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    return true;
  }

  #dropInterim(): void {
    let end = this.#buffer.indexOf(HEAD_END);
    while (this.#isInterim() && end >= 0 && end < MAX_HEAD_BYTES) {
      this.#buffer = this.#buffer.subarray(end + HEAD_END.length);
      end = this.#buffer.indexOf(HEAD_END);
    }
    this.#isFinal = !this.#isInterim() || this.#buffer.length >= MAX_HEAD_BYTES;
  }

  #isInterim(): boolean {
    const start = this.#buffer.toString('latin1', 0, SAMPLE_INTERIM_START.length);
    return INTERIM_PATTERN.test(start + SAMPLE_INTERIM_START.slice(start.length));
  }
}

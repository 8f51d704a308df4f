import type { Socket } from 'node:net';

/** All that is read of one answer, whatever it is. */
const MAX_RESPONSE_BYTES = 64 * 1_024;
/** The largest head of it. */
export const MAX_HEAD_BYTES = 16 * 1_024;
/** undici reads a part to its end, and that slowly, although it has found its head to be too large. */
const PART_BYTES = 2_048;
const HEAD_END = '\r\n\r\n';
/** The start of an interim answer, and one that stands for as much of it as is not here yet. */
const INTERIM = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
const CONTINUED = 'HTTP/1.1 100 ';

/**
 * Meters what undici reads of a connection, and takes interim answers out of it: it breaks the connection at a `100
 * Continue` (8.12), although a client has to pass over every one, asked for or not (RFC 9110, 15.2), and some servers
 * send it before each answer to a POST. `101` stays: who answers it goes on in another protocol. Without the meter a flood
 * of what nothing counts, such as interim answers, would be read as fast as it comes, and leave no time for any other
 * target (C22).
 */
export class ResponseLimiter {
  readonly #socket: Socket;
  readonly #read: Socket['read'];
  #tooMuch: () => void = () => undefined;
  #held: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #isFinal = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#read = socket.read;
    socket.read = () => this.#next();
  }

  /** The next answer begins here. `tooMuch` is called when more is said than anybody has to. */
  begin(tooMuch: () => void): void {
    this.#tooMuch = tooMuch;
    this.#bytes = 0;
    this.#isFinal = false;
  }

  /** How much has been read of the answer. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether nothing is here that belongs to no answer. */
  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  #next(): Buffer | null {
    while (!this.#isFinal) {
      if (!this.#isMore()) return null;
      this.#dropInterim();
    }
    if (this.#held.length === 0 && !this.#isMore()) return null;
    const part = this.#held.subarray(0, PART_BYTES);
    this.#held = this.#held.subarray(PART_BYTES);
    return this.#socket.destroyed ? null : part;
  }

  #isMore(): boolean {
    if (this.#bytes >= MAX_RESPONSE_BYTES) this.#tooMuch();
    const chunk: Buffer | null = this.#socket.destroyed ? null : this.#read.call(this.#socket);
    if (chunk === null) return false;
    this.#bytes += chunk.length;
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return true;
  }

  #dropInterim(): void {
    let end = this.#held.indexOf(HEAD_END);
    while (this.#isInterim() && end >= 0 && end < MAX_HEAD_BYTES) {
      this.#held = this.#held.subarray(end + HEAD_END.length);
      end = this.#held.indexOf(HEAD_END);
    }
    this.#isFinal = !this.#isInterim() || this.#held.length >= MAX_HEAD_BYTES;
  }

  #isInterim(): boolean {
    const start = this.#held.toString('latin1', 0, CONTINUED.length);
    return INTERIM.test(start + CONTINUED.slice(start.length));
  }
}

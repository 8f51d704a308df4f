import { writeSync } from 'node:fs';
import { type Clock, systemClock } from './clock.ts';
import { printableJson } from './control-characters.ts';

/** What is held at the most, characters, where nobody takes it; the lines beyond it are dropped. */
const MAX_BUFFERED_BYTES = 1_024 * 1_024;

/** When it is tried again where whoever reads has not made room yet. */
const RETRY_DELAY_MS = 10;

/** Writes what it can of a text, and answers how many octets that were. */
type Write = (octets: Uint8Array) => number;

/**
 * Log lines, written together at the end of the turn of the event loop in which they were said: a system call for each
 * line would be a good part of what a request costs. Nothing fails for its log: a line that cannot be written is dropped.
 */
export class LogLines {
  readonly #write: Write;
  readonly #clock: Clock;
  #held: string[] = [];
  /** Of what was not taken the last time; it may begin within a character. */
  #rest: Uint8Array = new Uint8Array();
  #length = 0;
  #cancel: (() => void) | undefined;

  constructor(write: Write, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  /** Takes one line. */
  write(line: string): void {
    // Whoever reads along may do so on a terminal. The end of the line is no part of the JSON.
    const safe = `${printableJson(line.slice(0, -1))}\n`;
    if (this.#length + safe.length > MAX_BUFFERED_BYTES) return;
    this.#held.push(safe);
    this.#length += safe.length;
    if (this.#cancel !== undefined) return;
    const turn = setImmediate(() => this.flushSync());
    this.#cancel = () => clearImmediate(turn);
  }

  /** Writes what is held, as far as it is taken. */
  flushSync(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#length === 0) return;
    const said = Buffer.from(this.#held.join(''));
    this.#held = [];
    this.#rest = this.#writeOut(this.#rest.length === 0 ? said : Buffer.concat([this.#rest, said]));
    this.#length = this.#rest.length;
    if (this.#length > 0) this.#cancel = this.#clock.after(RETRY_DELAY_MS, () => this.flushSync());
  }

  /** What was not taken, and may be later. */
  #writeOut(octets: Uint8Array): Uint8Array {
    let written = 0;
    try {
      while (written < octets.length) written += this.#write(octets.subarray(written));
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFull) return new Uint8Array();
    }
    return octets.subarray(written);
  }
}

let lines: LogLines | undefined;

/** The one standard error of this process; what is held is written when it exits. */
export function standardError(): LogLines {
  if (lines === undefined) {
    const made = new LogLines((octets) => writeSync(2, octets), systemClock);
    process.on('exit', () => made.flushSync());
    lines = made;
  }
  return lines;
}

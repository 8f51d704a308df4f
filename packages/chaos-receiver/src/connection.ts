import type { Socket } from 'node:net';
import type { Clock } from '../../../src/clock.ts';
import type { SeededChance } from './random.ts';
import type { Asked } from './request.ts';

/** What every visit has in common. */
export type Surroundings = {
  readonly clock: Clock;
  readonly chance: SeededChance;
  /** How long the sender waits for an answer, as far as anybody has said. */
  readonly deadlineMs: number;
  /** Between two bytes of what drips. */
  readonly paceMs: number;
};

/** One connection, and what a behaviour can do with it. What is done when the sender has gone does nothing. */
export class Visit {
  readonly clock: Clock;
  readonly chance: SeededChance;
  readonly deadlineMs: number;
  readonly paceMs: number;
  /** What was asked, as far as it has arrived. */
  asked: Asked | undefined;
  /** Resolves when the sender has closed, or half of it. */
  readonly left: Promise<void>;
  readonly #raw: Socket;
  #socket: Socket;
  #gone = false;
  #resolveLeft: () => void;

  constructor(raw: Socket, { clock, chance, deadlineMs, paceMs }: Surroundings) {
    this.clock = clock;
    this.chance = chance;
    this.deadlineMs = deadlineMs;
    this.paceMs = paceMs;
    this.#raw = raw;
    this.#socket = raw;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.left = promise;
    this.#resolveLeft = resolve;
    this.speakThrough(raw);
  }

  /** From here on what is written goes through this one: the TLS over the connection. */
  speakThrough(socket: Socket): void {
    this.#socket = socket;
    // A sender may do what it likes to a connection.
    socket.on('error', () => this.#leave());
    socket.on('end', () => this.#leave());
    socket.on('close', () => this.#leave());
  }

  #leave(): void {
    this.#gone = true;
    this.#resolveLeft();
  }

  /** Where what is said goes and what is heard comes from. */
  get socket(): Socket {
    return this.#socket;
  }

  get isGone(): boolean {
    return this.#gone;
  }

  get bytesWritten(): number {
    return this.#raw.bytesWritten;
  }

  /** Says it, and leaves the connection open. False when the sender reads more slowly than that. */
  write(bytes: string | Uint8Array): boolean {
    if (this.#gone) return true;
    return this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Says it and closes: FIN, and over TLS a goodbye before it. */
  end(bytes: string | Uint8Array = ''): void {
    this.write(bytes);
    this.#socket.end();
  }

  /** FIN at once, below TLS too. */
  cut(): void {
    this.#raw.end();
  }

  /** RST. What was said before is let through first. */
  async reset(bytes = ''): Promise<void> {
    if (bytes !== '') {
      this.write(bytes);
      // Else the sender's system throws away what its program has not read yet.
      await this.wait(Math.min(100, this.deadlineMs / 5));
    }
    if (!this.#raw.destroyed) this.#raw.resetAndDestroy();
  }

  /** Ends early when the sender leaves. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.clock.after(ms, resolve);
    await Promise.race([promise, this.left]);
    cancel();
  }

  /** One byte after the other; all of it within `withinMs`, or at the pace of what drips. */
  async drip(bytes: string, withinMs?: number): Promise<void> {
    const everyMs = withinMs === undefined ? this.paceMs : withinMs / bytes.length;
    const beganAt = this.clock.monotonic();
    for (let index = 0; index < bytes.length && !this.#gone; index += 1) {
      this.write(bytes.charAt(index));
      await this.wait(beganAt + (index + 1) * everyMs - this.clock.monotonic());
    }
  }

  /** The same again and again, as fast as the sender takes it: `times` times, or until it leaves. */
  async pour(bytes: string | Uint8Array, times = Number.POSITIVE_INFINITY): Promise<void> {
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    for (let count = 0; count < times && !this.#gone; count += 1) {
      if (!this.write(chunk)) await this.#drained();
    }
  }

  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('drain', resolve);
    await Promise.race([promise, this.left]);
    this.#socket.off('drain', resolve);
  }
}

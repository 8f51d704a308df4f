/** Every fault of a simulated world, with the port at which it is injected. Each fault is counted when it occurs. */
export const faultPoints = {
  'crash before a commit': 'disk',
  'crash in the middle of a commit': 'disk',
  'crash after a commit, before it is announced': 'disk',
  'crash while results are committed': 'disk',
  'crash between claim and attempt': 'attempt',
  'crash while attempts are in flight': 'process',
  'crash between response and commit of the result': 'process',
  'crash during requests': 'process',
  'crash right after a response to a client': 'process',
  'crash during a stop': 'process',
  'crash during a start': 'process',
  'stop and start': 'process',
  'process paused': 'process',
  'process paused, and responses arrive': 'process',
  'process paused past a deadline': 'process',
  'database busy for a moment': 'disk',
  'database busy past the timeout': 'disk',
  'disk full at a statement': 'disk',
  'disk full, and the transaction is rolled back': 'disk',
  'disk full at a commit': 'disk',
  'disk full while results are committed': 'disk',
  'I/O error at a commit': 'disk',
  'read fails': 'disk',
  'read of pending deliveries fails': 'disk',
  'resolver late': 'resolver',
  'resolver too late': 'resolver',
  'resolver silent': 'resolver',
  'name does not resolve': 'resolver',
  'name resolves to a forbidden address': 'resolver',
  'name also resolves to a forbidden address': 'resolver',
  'no file handle': 'attempt',
  'no local port': 'attempt',
  'no route': 'attempt',
  'no memory': 'attempt',
  'attempt throws': 'attempt',
  'target refuses': 'receiver',
  'target resets': 'receiver',
  'target fails the TLS handshake': 'receiver',
  'target hangs past the deadline': 'receiver',
  'target answers after the hook has ended': 'receiver',
  'clock jumps forward': 'clock',
  'clock jumps back': 'clock',
  'clock far ahead, and corrected': 'clock',
} as const;

export type FaultPoint = keyof typeof faultPoints;
export type FaultPort = (typeof faultPoints)[FaultPoint];

export const faultPointsOf = (port: FaultPort): readonly FaultPoint[] =>
  (Object.keys(faultPoints) as FaultPoint[]).filter((point) => faultPoints[point] === port);

/** The faults to inject next, and counters of the faults that have occurred. */
export class FaultInjector {
  readonly hits = new Map<FaultPoint, number>();
  readonly #armed = new Set<FaultPoint>();

  /** Injects the fault at the next opportunity. */
  arm(point: FaultPoint): void {
    this.#armed.add(point);
  }

  /** Whether the fault occurs now. A fault that occurs is disarmed. */
  occurs(point: FaultPoint): boolean {
    if (!this.#armed.delete(point)) return false;
    this.countHit(point);
    return true;
  }

  /** Number of failed reads. */
  get failedReads(): number {
    return (this.hits.get('read fails') ?? 0) + (this.hits.get('read of pending deliveries fails') ?? 0);
  }

  countHit(point: FaultPoint): void {
    this.hits.set(point, (this.hits.get(point) ?? 0) + 1);
  }

  /** Disarms all faults. */
  disarmAll(): void {
    this.#armed.clear();
  }
}

/** Length of a simulated instant, within which results are committed. */
const INSTANT_MS = 5;

/** A failed write is retried within this time. */
const RETRY_TIMEOUT_MS = 600;

/**
 * Times at which the service could not write or was paused. A result that the service knew at such a time may be
 * uncommitted when the service dies.
 */
export class WriteOutages {
  readonly #intervals: { readonly from: number; readonly to: number }[] = [];

  /** Adds an interval, or a single time. */
  add(from: number, to = from): void {
    this.#intervals.push({ from, to });
  }

  /** Maximum time until a result that is known at `since` is committed. */
  readonly settlesWithinMs = (since: number): number => {
    let end = since + INSTANT_MS;
    for (const { from, to } of this.#intervals) {
      const writtenBy = to + RETRY_TIMEOUT_MS;
      if (from <= end && writtenBy >= since) end = Math.max(end, writtenBy);
    }
    return end - since;
  };
}

/** Every kind of fault that a simulated world has, by the port that it comes in through. Each is counted when it hits. */
export const faultPoints = {
  'crash before a commit': 'disk',
  'crash in the middle of a commit': 'disk',
  'crash after a commit, before anybody knows': 'disk',
  'crash during a settlement': 'disk',
  'crash between claim and attempt': 'attempt',
  'crash while attempts are in flight': 'process',
  'crash between answer and settlement': 'process',
  'crash while requests are under way': 'process',
  'crash right after an answer to a client': 'process',
  'crash during a stop': 'process',
  'crash during a start': 'process',
  'stop and start': 'process',
  'process stands still': 'process',
  'process stands still, and answers arrive': 'process',
  'process stands still past a deadline': 'process',
  'database busy for a moment': 'disk',
  'database busy for too long': 'disk',
  'disk full at a statement': 'disk',
  'disk full, and the transaction is gone': 'disk',
  'disk full at a commit': 'disk',
  'disk full at a settlement': 'disk',
  'I/O error at a commit': 'disk',
  'read fails': 'disk',
  'read of what is pending fails': 'disk',
  'resolver late': 'resolver',
  'resolver too late': 'resolver',
  'resolver silent': 'resolver',
  'name gone': 'resolver',
  'name leads to a forbidden address': 'resolver',
  'name leads to a forbidden address, too': 'resolver',
  'no file handle': 'attempt',
  'no local port': 'attempt',
  'no route': 'attempt',
  'no memory': 'attempt',
  'attempt throws': 'attempt',
  'target refuses': 'receiver',
  'target resets': 'receiver',
  'target speaks no TLS': 'receiver',
  'target hangs past the deadline': 'receiver',
  'target answers after the hook has ended': 'receiver',
  'clock jumps forward': 'clock',
  'clock jumps back': 'clock',
  'clock far ahead, and set right': 'clock',
} as const;

export type FaultPoint = keyof typeof faultPoints;
export type FaultPort = (typeof faultPoints)[FaultPoint];

export const pointsOf = (port: FaultPort): readonly FaultPoint[] =>
  (Object.keys(faultPoints) as FaultPoint[]).filter((point) => faultPoints[point] === port);

/** What is to go wrong next, and what has. */
export class Faults {
  readonly hits = new Map<FaultPoint, number>();
  readonly #armed = new Set<FaultPoint>();

  /** The next time that it can happen, it does. */
  arm(point: FaultPoint): void {
    this.#armed.add(point);
  }

  /** Whether it happens now; then it is over. */
  takes(point: FaultPoint): boolean {
    if (!this.#armed.delete(point)) return false;
    this.hit(point);
    return true;
  }

  /** How often something could not be read. */
  get unread(): number {
    return (this.hits.get('read fails') ?? 0) + (this.hits.get('read of what is pending fails') ?? 0);
  }

  hit(point: FaultPoint): void {
    this.hits.set(point, (this.hits.get(point) ?? 0) + 1);
  }

  /** Nothing goes wrong any more. */
  calm(): void {
    this.#armed.clear();
  }
}

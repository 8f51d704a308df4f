import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Queries, Store } from '../store/store.ts';
import type { Lane } from './lane.ts';
import { firstOf, Loop } from './loop.ts';
import { askedFor, findOwed, findSecrets, nextOwed } from './queue.ts';

/** How many deliveries of a lane are held in memory at once. */
const READ_AHEAD = 32;

/** How many lanes are read at once. */
const LANES_A_TURN = 64;

export type ReadAheadPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly mayGoOn: () => boolean;
  /** False while it is not said yet that a change of what signs a lane was heard (X8). */
  readonly mayReadSecrets: (lane: Lane) => boolean;
  readonly onRead: (lane: Lane) => void;
};

/** Reads what the next attempts of lanes need, some lanes at a time; what could not be read is read again. */
export class ReadAhead {
  readonly #ports: ReadAheadPorts;
  readonly #lanes = new Set<Lane>();
  readonly #loop: Loop;

  constructor(ports: ReadAheadPorts) {
    this.#ports = ports;
    this.#loop = new Loop(ports, {
      hasWork: () => this.#lanes.size > 0 && ports.mayGoOn(),
      turn: () => this.#readSome(),
    });
  }

  add(lane: Lane): void {
    this.#lanes.add(lane);
    this.#loop.go();
  }

  go(): void {
    this.#loop.go();
  }

  async #readSome(): Promise<void> {
    const lanes = firstOf(this.#lanes, LANES_A_TURN);
    for (const lane of lanes) this.#lanes.delete(lane);
    const read = await Promise.allSettled(lanes.map((lane) => this.#read(lane)));
    const failed = read.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #read(lane: Lane): Promise<void> {
    const { store, clock, mayReadSecrets, onRead } = this.#ports;
    try {
      await fill(store.read, lane, () => clock.now(), mayReadSecrets(lane));
    } catch (error) {
      this.#lanes.add(lane);
      throw error;
    }
    onRead(lane);
  }
}

/** What signs the next attempts of a lane, what was asked for, what is owed. */
async function fill(read: Queries, lane: Lane, now: () => number, mayReadSecrets: boolean): Promise<void> {
  if (lane.ended) return;
  lane.isBeingRead = true;
  try {
    if (lane.secretsAreOld && mayReadSecrets) await fillSecrets(read, lane);
    if (lane.moreAsked) await fillAsked(read, lane);
    if (lane.isEmpty && lane.mayBegin(now())) await fillOwed(read, lane);
  } finally {
    lane.isBeingRead = false;
  }
}

async function fillSecrets(read: Queries, lane: Lane): Promise<void> {
  // Before they are read: what changes meanwhile may not be what comes back.
  lane.secretsAreOld = false;
  lane.secrets = await findSecrets(read, lane.hookId).catch((error: unknown) => {
    lane.secretsAreOld = true;
    throw error;
  });
}

async function fillAsked(read: Queries, lane: Lane): Promise<void> {
  // Before it is read: what is announced meanwhile may not be among what comes back.
  lane.moreAsked = false;
  const rows = await askedFor(read, lane.hookId, lane.askedUpTo, READ_AHEAD).catch((error: unknown) => {
    lane.moreAsked = true;
    throw error;
  });
  lane.askedUpTo = rows.at(-1)?.askId ?? lane.askedUpTo;
  if (rows.length === READ_AHEAD) lane.moreAsked = true;
  lane.addAsked(rows);
}

async function fillOwed(read: Queries, lane: Lane): Promise<void> {
  if (lane.retryToRead !== null) {
    const retry = await findOwed(read, lane.hookId, lane.retryToRead);
    lane.retryToRead = null;
    if (retry !== undefined) lane.add([retry]);
  }
  if (!lane.more) return;
  lane.more = false;
  const rows = await nextOwed(read, lane.hookId, lane.readUpTo, READ_AHEAD).catch((error: unknown) => {
    lane.more = true;
    throw error;
  });
  lane.addNext(rows, rows.length < READ_AHEAD);
}

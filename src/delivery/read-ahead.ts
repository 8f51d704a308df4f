import type { Queries } from '../store/store.ts';
import type { Lane } from './lane.ts';
import { askedFor, findOwed, findSecrets, nextOwed } from './queue.ts';

/** How many deliveries of a lane are held in memory at once. */
const READ_AHEAD = 32;

/**
 * Reads what the next attempts of a lane need: what signs them, what was asked for, what is owed. What cannot be read is
 * to be read again.
 *
 * @param mayReadSecrets false while it is not said yet that a change of them was heard (X8)
 */
export async function fill(read: Queries, lane: Lane, now: () => number, mayReadSecrets: boolean): Promise<void> {
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

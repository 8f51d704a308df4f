import type { Selectable } from 'kysely';
import { sleep, systemClock } from '../clock.ts';
import type { Queries, Store, Tx } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { TransferError } from './operator-report.ts';

/** An interrupted import of an export, or an interrupted removal of an account. A database has at most one. */
export type IncompleteTransfer = Selectable<Tables['transfers']>;

/** Id of the only row of the table `transfers`. */
const TRANSFER_ID = 1;

export async function findIncompleteTransfer(read: Queries): Promise<IncompleteTransfer | undefined> {
  return read.selectFrom('transfers').selectAll().where('transfer_id', '=', TRANSFER_ID).executeTakeFirst();
}

/** Explains to the operator, in one line, why no service can start on the database and how to continue. */
export function explainIncompleteTransfer({ work }: Pick<IncompleteTransfer, 'work'>): string {
  return work === 'import'
    ? 'An import into this database is incomplete: carillon import --resume continues it, carillon import --undo removes it.'
    : 'The removal of an account from this database is incomplete: carillon import --undo completes it.';
}

/**
 * Marks the database as incomplete, so that no service can start on it. Throws if a transfer or a service is running.
 */
export async function beginTransfer(
  store: Store,
  transfer: Omit<IncompleteTransfer, 'transfer_id' | 'line'>,
): Promise<void> {
  await store.write(async ({ queries }) => {
    const insertResult = await queries
      .insertInto('transfers')
      .values({ ...transfer, transfer_id: TRANSFER_ID, line: 0 })
      .onConflict((conflict) => conflict.column('transfer_id').doNothing())
      .executeTakeFirstOrThrow();
    if (insertResult.numInsertedOrUpdatedRows !== 1n) throw new TransferError(IMPORT_RUNNING_MESSAGE);
  });
  // Check again after the mark is committed. If a service starts at the same time, either the service finds the mark,
  // or this check finds the service.
  await requireNoRunningService(store).catch(async (error: unknown) => {
    await store.write(finishTransfer);
    throw error;
  });
}

/** Marks that a removal has started to delete rows. Before this mark, the removal has changed nothing. */
export async function markRemovalStarted(store: Store): Promise<void> {
  await store.write(async ({ queries }) => {
    await queries
      .updateTable('transfers')
      .set({ work: 'removal', line: 1 })
      .where('transfer_id', '=', TRANSFER_ID)
      .execute();
  });
}

/** Whether this is a removal that has not deleted any row yet (see `markRemovalStarted`). */
export function isUnstartedRemoval({ work, line }: IncompleteTransfer): boolean {
  return work === 'removal' && line === 0;
}

/** Stores that all lines up to `toLine` are imported, in the same transaction that imports them. */
export async function recordImportedLines(
  { queries }: Tx,
  checksum: string,
  fromLine: number,
  toLine: number,
): Promise<void> {
  const { numUpdatedRows } = await queries
    .updateTable('transfers')
    .set({ line: toLine })
    .where('transfer_id', '=', TRANSFER_ID)
    .where('work', '=', 'import')
    .where('checksum', '=', checksum)
    .where('line', '=', fromLine)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows !== 1n) throw new TransferError(IMPORT_RUNNING_MESSAGE);
}

const IMPORT_RUNNING_MESSAGE = 'Another import is running on this database.';

/** Removes the mark of an incomplete transfer, so that services can start again. */
export async function finishTransfer({ queries }: Pick<Tx, 'queries'>): Promise<void> {
  await queries.deleteFrom('transfers').where('transfer_id', '=', TRANSFER_ID).execute();
}

/** Time between two reads of the heartbeats, several heartbeat intervals of a node. */
const HEARTBEAT_CHECK_DELAY_MS = 1_000;

/**
 * Throws if a node is running on the database: its connection is open, or its heartbeat changes. Rows of killed nodes
 * are ignored. On SQLite, the file lock has already excluded other services.
 */
export async function requireNoRunningService({ clusterSession, read }: Store): Promise<void> {
  if (clusterSession === undefined) return;
  const findNodes = () => read.selectFrom('nodes').select(['node_id', 'heartbeat']).execute();
  const nodesBefore = await findNodes();
  if (nodesBefore.length === 0) return;
  const connectedNodeIds = await clusterSession.findConnectedNodes();
  if (nodesBefore.some(({ node_id }) => connectedNodeIds.has(node_id))) throw createServiceRunningError();
  await sleep(systemClock, HEARTBEAT_CHECK_DELAY_MS);
  const heartbeatsBefore = new Map(nodesBefore.map((node) => [node.node_id, node.heartbeat]));
  if ((await findNodes()).some(({ node_id, heartbeat }) => heartbeatsBefore.get(node_id) !== heartbeat))
    throw createServiceRunningError();
}

function createServiceRunningError(): TransferError {
  return new TransferError('A service is running on this database: stop it first, on every machine.');
}

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../permissions.ts';
import { invalidInput, Problem } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { createOldestRowDeleter, deleteInBatches } from '../../store/delete-in-batches.ts';
import { prepareQuery } from '../../store/prepared-queries.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { readHeaderValues } from '../server/cors.ts';
import type { Route, RouteInput, RouteResult } from './route.ts';

/** How long the first response to a key is stored and replayed. */
const STORED_RESPONSE_TTL_MS = 24 * 3_600_000;

/** A call with an Idempotency-Key. The key is unique per API key; the fingerprint is a hash of route, ids and body. */
export type IdempotentCall = { readonly keyId: number; readonly idempotencyKey: string; readonly fingerprint: string };

/** Creates the prefix of the text whose hash is the fingerprint: route and ids. The bytes of the body follow it. */
export function createFingerprintPrefix(route: Pick<Route, 'method' | 'path'>, ids: RouteInput['ids']): string {
  return `${route.method} ${route.path} ${JSON.stringify(ids)}\n`;
}

/**
 * Reads the `Idempotency-Key` of a request; undefined without one. Throws `invalid_input` for an invalid key (X4).
 *
 * @param hashWithPrefix returns a hash of a prefix followed by the raw body
 */
export function readIdempotencyKey(
  request: Pick<IncomingMessage, 'rawHeaders'>,
  route: Route,
  caller: Caller,
  { ids }: Pick<RouteInput, 'ids'>,
  hashWithPrefix: (prefix: string) => string = (prefix) => hash('sha256', prefix, 'base64url'),
): IdempotentCall | undefined {
  const [idempotencyKey, ...repeatedKeys] = readHeaderValues(request, 'idempotency-key');
  if (idempotencyKey === undefined) return undefined;
  if (repeatedKeys.length > 0 || !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    const message = repeatedKeys.length > 0 ? 'must be given once' : 'must be 1 to 255 visible ASCII characters';
    throw invalidInput([{ field: 'Idempotency-Key', message }]);
  }
  return { keyId: caller.keyId, idempotencyKey, fingerprint: hashWithPrefix(createFingerprintPrefix(route, ids)) };
}

const lockNameOf = ({ keyId, idempotencyKey }: IdempotentCall) => `idempotency ${keyId} ${idempotencyKey}`;

function requireSameRequest(idempotentCall: IdempotentCall, fingerprint: string): void {
  if (fingerprint !== idempotentCall.fingerprint) throw new Problem('idempotency_mismatch');
}

/** Idempotent calls that are running in this process. */
export class InProgressCalls {
  readonly #fingerprintByLock = new Map<string, string>();

  /** Runs a call; throws `idempotency_in_progress` if a call with the same key is running. */
  async runExclusively<T>(idempotentCall: IdempotentCall, runCall: () => Promise<T>): Promise<T> {
    const lockName = lockNameOf(idempotentCall);
    const runningFingerprint = this.#fingerprintByLock.get(lockName);
    if (runningFingerprint !== undefined) {
      requireSameRequest(idempotentCall, runningFingerprint);
      throw new Problem('idempotency_in_progress');
    }
    this.#fingerprintByLock.set(lockName, idempotentCall.fingerprint);
    try {
      return await runCall();
    } finally {
      this.#fingerprintByLock.delete(lockName);
    }
  }
}

/** Finds the stored response of this call. Throws `idempotency_mismatch` if the key was used for another call. */
async function findStoredResponse(view: AccountView, idempotentCall: IdempotentCall): Promise<RouteResult | undefined> {
  const row = await view
    .selectFrom('idempotency')
    .select(['idempotency.fingerprint', 'idempotency.status', 'idempotency.location', 'idempotency.body'])
    .where('idempotency.key_id', '=', idempotentCall.keyId)
    .where('idempotency.idempotency_key', '=', idempotentCall.idempotencyKey)
    .where('idempotency.answered_at', '>', view.now - STORED_RESPONSE_TTL_MS)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  requireSameRequest(idempotentCall, row.fingerprint);
  const createdProperty = row.location === '' ? {} : { createdPath: row.location };
  return { body: JSON.parse(row.body), ...createdProperty, replayedStatus: row.status };
}

/** Returns the stored response of a repeated call, or runs the call. A call without a key always runs (X4). */
export async function replayOrRun(
  idempotentCall: IdempotentCall | undefined,
  inProgressCalls: InProgressCalls,
  view: AccountView,
  runCall: () => Promise<RouteResult>,
): Promise<RouteResult> {
  if (idempotentCall === undefined) return runCall();
  return inProgressCalls.runExclusively(
    idempotentCall,
    async () => (await findStoredResponse(view, idempotentCall)) ?? runCall(),
  );
}

/** Stores a response. A prepared query is sent synchronously, so it can be pipelined before the commit. */
const storeResponse = prepareQuery((queries, row: Tables['idempotency']) =>
  queries
    .insertInto('idempotency')
    .values({
      key_id: row.key_id,
      idempotency_key: row.idempotency_key,
      account_id: row.account_id,
      fingerprint: row.fingerprint,
      status: row.status,
      location: row.location,
      body: row.body,
      answered_at: row.answered_at,
    })
    // An existing row has expired, because `findStoredResponse` did not return it.
    .onConflict((conflict) =>
      conflict.columns(['key_id', 'idempotency_key']).doUpdateSet(({ ref }) => ({
        fingerprint: ref('excluded.fingerprint'),
        status: ref('excluded.status'),
        location: ref('excluded.location'),
        body: ref('excluded.body'),
        answered_at: ref('excluded.answered_at'),
      })),
    ),
);

/**
 * Runs a call and stores its response in the same transaction, or returns the stored response. Throws
 * `idempotency_in_progress` while another node runs the same call.
 *
 * @param toStorableBody returns the part of a response body that may be stored
 */
export async function runOnce(
  tx: Tx,
  write: AccountWrite,
  idempotentCall: IdempotentCall,
  status: number,
  runCall: () => Promise<RouteResult>,
  toStorableBody: (body: unknown) => unknown,
): Promise<RouteResult> {
  // Both queries are pipelined and run in this order: the lock first, so that the read sees the stored response of a
  // concurrent duplicate.
  const [hasLock, storedResponse] = await Promise.all([
    tx.tryLock(lockNameOf(idempotentCall)),
    findStoredResponse(write, idempotentCall),
  ]);
  if (!hasLock) throw new Problem('idempotency_in_progress');
  if (storedResponse !== undefined) return storedResponse;
  const result = await runCall();
  const storePromise = storeResponse(tx.queries, {
    key_id: idempotentCall.keyId,
    idempotency_key: idempotentCall.idempotencyKey,
    account_id: write.accountId,
    fingerprint: idempotentCall.fingerprint,
    status,
    location: result.createdPath ?? '',
    body: JSON.stringify(toStorableBody(result.body)),
    answered_at: write.now,
  });
  tx.sendWithCommit(storePromise);
  return result;
}

/** Deletes expired responses in batches. Returns the number of deleted responses. */
export function deleteExpiredResponses(
  store: Store,
  now: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  const deleteBatch = createOldestRowDeleter('idempotency', 'answered_at', now - STORED_RESPONSE_TTL_MS);
  return deleteInBatches(store.write, deleteBatch, isStopped);
}

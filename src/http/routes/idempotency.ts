import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../permissions.ts';
import { invalidInput, Problem } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { prepared } from '../../store/prepared-queries.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { headerLines } from '../server/cors.ts';
import type { Route, RouteInput, RouteResult } from './route.ts';

/** How long the first response to a key is stored and replayed. */
const RETENTION_MS = 24 * 3_600_000;

/** Number of expired responses that are deleted per transaction. It is small, so that no other write waits long. */
const DELETE_BATCH_SIZE = 500;

/** A call with an Idempotency-Key, which is unique per API key. The fingerprint identifies route, ids and body. */
export type IdempotentCall = { readonly keyId: number; readonly idempotencyKey: string; readonly fingerprint: string };

/** The beginning of the text that is hashed to the fingerprint: route and ids. The bytes of the body follow. */
export function fingerprintPrefix(route: Pick<Route, 'method' | 'path'>, ids: RouteInput['ids']): string {
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
  const [idempotencyKey, ...more] = headerLines(request, 'idempotency-key');
  if (idempotencyKey === undefined) return undefined;
  if (more.length > 0 || !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    const message = more.length > 0 ? 'must be given once' : 'must be 1 to 255 visible ASCII characters';
    throw invalidInput([{ field: 'Idempotency-Key', message }]);
  }
  return { keyId: caller.keyId, idempotencyKey, fingerprint: hashWithPrefix(fingerprintPrefix(route, ids)) };
}

const lockNameOf = ({ keyId, idempotencyKey }: IdempotentCall) => `idempotency ${keyId} ${idempotencyKey}`;

function requireSameRequest(once: IdempotentCall, fingerprint: string): void {
  if (fingerprint !== once.fingerprint) throw new Problem('idempotency_mismatch');
}

/** Idempotent calls that are running in this process. */
export class InProgressCalls {
  readonly #calls = new Map<string, string>();

  /** Runs the work; throws `idempotency_in_progress` if a call with the same key is running. */
  async run<T>(once: IdempotentCall, work: () => Promise<T>): Promise<T> {
    const name = lockNameOf(once);
    const running = this.#calls.get(name);
    if (running !== undefined) {
      requireSameRequest(once, running);
      throw new Problem('idempotency_in_progress');
    }
    this.#calls.set(name, once.fingerprint);
    try {
      return await work();
    } finally {
      this.#calls.delete(name);
    }
  }
}

/** The stored response of this call, if any. Throws `idempotency_mismatch` if the key was used for another call. */
export async function findStoredResponse(view: AccountView, once: IdempotentCall): Promise<RouteResult | undefined> {
  const row = await view
    .selectFrom('idempotency')
    .select(['idempotency.fingerprint', 'idempotency.status', 'idempotency.location', 'idempotency.body'])
    .where('idempotency.key_id', '=', once.keyId)
    .where('idempotency.idempotency_key', '=', once.idempotencyKey)
    .where('idempotency.answered_at', '>', view.now - RETENTION_MS)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  requireSameRequest(once, row.fingerprint);
  const created = row.location === '' ? {} : { created: row.location };
  return { body: JSON.parse(row.body), ...created, repeats: row.status };
}

/** Stores a response. The query is prepared, so that it is sent synchronously, pipelined before the commit. */
const storeResponse = prepared((queries, row: Tables['idempotency']) =>
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
 * @param storable returns the part of a response body that may be stored
 */
export async function runOnce(
  tx: Tx,
  write: AccountWrite,
  once: IdempotentCall,
  status: number,
  call: () => Promise<RouteResult>,
  storable: (body: unknown) => unknown,
): Promise<RouteResult> {
  // Both queries are pipelined and run in this order: the lock first, so that the read sees the stored response of a
  // concurrent duplicate.
  const [isLocked, stored] = await Promise.all([tx.tryLock(lockNameOf(once)), findStoredResponse(write, once)]);
  if (!isLocked) throw new Problem('idempotency_in_progress');
  if (stored !== undefined) return stored;
  const result = await call();
  const storing = storeResponse(tx.queries, {
    key_id: once.keyId,
    idempotency_key: once.idempotencyKey,
    account_id: write.accountId,
    fingerprint: once.fingerprint,
    status,
    location: result.created ?? '',
    body: JSON.stringify(storable(result.body)),
    answered_at: write.now,
  });
  tx.withCommit(storing);
  return result;
}

/** Deletes expired responses in batches. Returns the number of rows. */
export async function deleteExpiredResponses(
  store: Store,
  now: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let total = 0;
  while (!isStopped()) {
    const dropped = await store.write(async ({ queries }) => {
      const old = await queries
        .selectFrom('idempotency')
        .select('answered_at')
        .where('answered_at', '<=', now - RETENTION_MS)
        .orderBy('answered_at')
        .limit(DELETE_BATCH_SIZE)
        .execute();
      const last = old.at(-1);
      if (last === undefined) return 0;
      const { numDeletedRows } = await queries
        .deleteFrom('idempotency')
        .where('answered_at', '<=', last.answered_at)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
    total += dropped;
    if (dropped < DELETE_BATCH_SIZE) return total;
  }
  return total;
}

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../permissions.ts';
import { invalidInput, Problem } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { prepared } from '../../store/prepared-queries.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { headerLines } from '../server/headers.ts';
import type { Input, Route, RouteResult } from './route.ts';

/** How long the first answer is given again. */
const RETENTION_MS = 24 * 3_600_000;

/** Small enough that no write waits long behind it. */
const DELETE_BATCH_SIZE = 500;

/** A call that is to be made once: whose key asks, by which word of their own, for what. */
export type IdempotentCall = { readonly keyId: number; readonly idempotencyKey: string; readonly fingerprint: string };

/** What the hash of a call begins with: the same call is the same route, the same ids and the same bytes. */
export function callOf(row: Pick<Route, 'method' | 'path'>, ids: Input['ids']): string {
  return `${row.method} ${row.path} ${JSON.stringify(ids)}\n`;
}

/**
 * The call that a request with an `Idempotency-Key` makes; undefined without one (X4).
 *
 * @param hashBehind the hash of a beginning and of the body as it arrived
 */
export function readIdempotencyKey(
  request: Pick<IncomingMessage, 'rawHeaders'>,
  row: Route,
  caller: Caller,
  { ids }: Pick<Input, 'ids'>,
  hashBehind: (beginning: string) => string = (beginning) => hash('sha256', beginning, 'base64url'),
): IdempotentCall | undefined {
  const [idempotencyKey, ...more] = headerLines(request, 'idempotency-key');
  if (idempotencyKey === undefined) return undefined;
  if (more.length > 0 || !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    const message = more.length > 0 ? 'must be given once' : 'must be 1 to 255 visible ASCII characters';
    throw invalidInput([{ field: 'Idempotency-Key', message }]);
  }
  return { keyId: caller.keyId, idempotencyKey, fingerprint: hashBehind(callOf(row, ids)) };
}

const nameOf = ({ keyId, idempotencyKey }: IdempotentCall) => `idempotency ${keyId} ${idempotencyKey}`;

function requireSameRequest(once: IdempotentCall, fingerprint: string): void {
  if (fingerprint !== once.fingerprint) throw new Problem('idempotency_mismatch');
}

/** The calls of this process that are running, from their body's last byte to their answer. */
export class InProgress {
  readonly #calls = new Map<string, string>();

  /** Does the work unless a twin of the call is at it. */
  async run<T>(once: IdempotentCall, work: () => Promise<T>): Promise<T> {
    const name = nameOf(once);
    const twin = this.#calls.get(name);
    if (twin !== undefined) {
      requireSameRequest(once, twin);
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

/** The answer that was given to this call before, if it was; a word that was used for another call is refused. */
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

/** Prepared, so that it is sent at once: before the commit that it rides with. */
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
    // What stands there has expired: it was not found.
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
 * Makes a call unless it was made before, in one transaction with keeping its answer. A twin that is running on
 * another node keeps it out.
 *
 * @param keptOf what may be kept of an answer
 */
export async function runOnce(
  tx: Tx,
  write: AccountWrite,
  once: IdempotentCall,
  status: number,
  call: () => Promise<RouteResult>,
  keptOf: (body: unknown) => unknown,
): Promise<RouteResult> {
  // Sent together, answered in this order: what a twin has kept by now is seen.
  const [held, kept] = await Promise.all([tx.tryLockAccount(nameOf(once)), findStoredResponse(write, once)]);
  if (!held) throw new Problem('idempotency_in_progress');
  if (kept !== undefined) return kept;
  const answer = await call();
  const keeping = storeResponse(tx.queries, {
    key_id: once.keyId,
    idempotency_key: once.idempotencyKey,
    account_id: write.accountId,
    fingerprint: once.fingerprint,
    status,
    location: answer.created ?? '',
    body: JSON.stringify(keptOf(answer.body)),
    answered_at: write.now,
  });
  tx.withCommit(keeping);
  return answer;
}

/** Drops what is not given again any more, a little at a time; answers how many rows that were. */
export async function dropIdempotency(
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

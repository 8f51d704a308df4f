import { setTimeout as wait } from 'node:timers/promises';
import { moment } from '../statistics.ts';
import { Connection, Refused, type Wired } from './connection.ts';

/** Requests without a response this long after the last one was due fail the round. */
export const RESPONSE_TIMEOUT_MS = 30_000;

/**
 * The times of a request in milliseconds, and the body of its response. A rejected request has no body and
 * counts as if it had waited for the whole timeout.
 */
export type Asked = {
  readonly dueAt: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly body: string | undefined;
};

/**
 * Sends requests at a fixed rate, whether earlier ones have been answered or not, as independent clients do.
 * Latency counts from the time at which a request was due.
 */
export async function atRate(
  origin: string,
  next: (turn: number) => Wired,
  { perSecond, forMs }: { readonly perSecond: number; readonly forMs: number },
): Promise<Asked[]> {
  const idle: Connection[] = [];
  const all: Connection[] = [];
  const requests: Promise<Asked>[] = [];
  const send = async (index: number, dueAt: number): Promise<Asked> => {
    let connection = idle.pop();
    while (connection?.isOpen === false) connection = idle.pop();
    if (connection === undefined) {
      connection = await Connection.open(origin);
      all.push(connection);
    }
    const sentAt = moment();
    const body = await connection.ask(next(index)).catch((error: unknown) => {
      if (error instanceof Refused) return undefined;
      throw error;
    });
    idle.push(connection);
    return { dueAt, sentAt, answeredAt: body === undefined ? sentAt + RESPONSE_TIMEOUT_MS : moment(), body };
  };
  const startedAt = moment();
  const count = Math.round((perSecond * forMs) / 1_000);
  for (let index = 0; index < count; index += 1) {
    const dueAt = startedAt + (index * 1_000) / perSecond;
    const restMs = dueAt - moment();
    if (restMs > 0.5) await wait(restMs);
    const one = send(index, dueAt);
    // Errors are reported by the Promise.all below.
    one.catch(() => undefined);
    requests.push(one);
  }
  const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const timedOut = new Promise<never>((_, reject) => {
    timeout.addEventListener('abort', () => reject(new Error(`not answered within ${RESPONSE_TIMEOUT_MS} ms`)));
  });
  try {
    return await Promise.race([Promise.all(requests), timedOut]);
  } finally {
    for (const connection of all) connection.close();
  }
}

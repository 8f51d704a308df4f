import { setTimeout as wait } from 'node:timers/promises';
import { moment } from '../statistics.ts';
import { Connection, Refused, type Wired } from './connection.ts';

/** Asks that were still unanswered when the last one had been due for so long are given up, and say so. */
export const RESPONSE_TIMEOUT_MS = 30_000;

/**
 * What became of one ask: when it was due, when it was sent, when its answer was there, milliseconds; and that answer.
 * One that was refused has none, and counts as if it had waited for as long as anybody does.
 */
export type Asked = {
  readonly dueAt: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly body: string | undefined;
};

/**
 * Asks so many times a second, whether what was asked before is answered or not: whoever asks out there does not wait for
 * others either. Latency counts from the moment at which an ask was due.
 */
export async function atRate(
  origin: string,
  next: (turn: number) => Wired,
  { perSecond, forMs }: { readonly perSecond: number; readonly forMs: number },
): Promise<Asked[]> {
  const free: Connection[] = [];
  const all: Connection[] = [];
  const asked: Promise<Asked>[] = [];
  const ask = async (turn: number, dueAt: number): Promise<Asked> => {
    let connection = free.pop();
    while (connection?.isOpen === false) connection = free.pop();
    if (connection === undefined) {
      connection = await Connection.open(origin);
      all.push(connection);
    }
    const sentAt = moment();
    const body = await connection.ask(next(turn)).catch((error: unknown) => {
      if (error instanceof Refused) return undefined;
      throw error;
    });
    free.push(connection);
    return { dueAt, sentAt, answeredAt: body === undefined ? sentAt + RESPONSE_TIMEOUT_MS : moment(), body };
  };
  const begun = moment();
  const count = Math.round((perSecond * forMs) / 1_000);
  for (let turn = 0; turn < count; turn += 1) {
    const dueAt = begun + (turn * 1_000) / perSecond;
    const restMs = dueAt - moment();
    if (restMs > 0.5) await wait(restMs);
    const one = ask(turn, dueAt);
    // That it failed is heard when all have been asked.
    one.catch(() => undefined);
    asked.push(one);
  }
  const giveUp = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const gaveUp = new Promise<never>((_, reject) => {
    giveUp.addEventListener('abort', () => reject(new Error(`not answered within ${RESPONSE_TIMEOUT_MS} ms`)));
  });
  try {
    return await Promise.race([Promise.all(asked), gaveUp]);
  } finally {
    for (const connection of all) connection.close();
  }
}

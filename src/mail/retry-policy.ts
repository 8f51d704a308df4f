/** What handing a mail to the server has come to. */
export type Outcome =
  | { readonly is: 'taken' }
  /** The server does not want this mail, or does not know whom it is for, and will not another time. */
  | { readonly is: 'refused'; readonly reason: string }
  /** Anything else. `untaken`: the server certainly does not have it, so that it may be sent as another one. */
  | { readonly is: 'failed'; readonly reason: string; readonly untaken: boolean };

/** What follows from it. */
export type Decision =
  | { readonly is: 'sent' }
  | { readonly is: 'retry'; readonly waitMs: number; readonly sealed: boolean }
  | { readonly is: 'given_up' };

const FIRST_WAIT_MS = 60_000;
/** The longest wait; no mail that is stored can be due later than this. */
export const MAX_WAIT_MS = 3_600_000;

/**
 * How often a mail is tried: for three days. What is older is no news, and the console has said it all along. Tries are
 * counted rather than time, so that no clock that is set ahead gives a mail up.
 */
const MAX_TRIES = 78;

/**
 * Waits are doubled from a minute to an hour; after three days a mail is given up.
 *
 * @param tries how often it was tried before
 */
export function decide(outcome: Outcome, { tries }: { tries: number }): Decision {
  if (outcome.is === 'taken') return { is: 'sent' };
  if (outcome.is === 'refused' || tries + 1 >= MAX_TRIES) return { is: 'given_up' };
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(tries, 10), MAX_WAIT_MS);
  return { is: 'retry', waitMs, sealed: !outcome.untaken };
}

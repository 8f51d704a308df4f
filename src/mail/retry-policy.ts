/** Outcome of sending a mail. */
export type Outcome =
  | { readonly is: 'taken' }
  /** Permanent rejection of this mail or its recipient. */
  | { readonly is: 'refused'; readonly reason: string }
  /** Any other failure. `untaken`: the server certainly has not accepted the mail, so its content may change. */
  | { readonly is: 'failed'; readonly reason: string; readonly untaken: boolean };

export type Decision =
  | { readonly is: 'sent' }
  | { readonly is: 'retry'; readonly waitMs: number; readonly sealed: boolean }
  | { readonly is: 'given_up' };

const FIRST_WAIT_MS = 60_000;
/** Maximum backoff: no stored mail is due later than this. */
export const MAX_WAIT_MS = 3_600_000;

/**
 * Maximum number of tries, about three days. After that the alert is outdated. Tries are counted instead of
 * time, so that a clock that is set ahead does not give up mails.
 */
const MAX_TRIES = 78;

/**
 * Exponential backoff from a minute to an hour; gives up after MAX_TRIES.
 *
 * @param tries number of previous tries
 */
export function decide(outcome: Outcome, { tries }: { tries: number }): Decision {
  if (outcome.is === 'taken') return { is: 'sent' };
  if (outcome.is === 'refused' || tries + 1 >= MAX_TRIES) return { is: 'given_up' };
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(tries, 10), MAX_WAIT_MS);
  return { is: 'retry', waitMs, sealed: !outcome.untaken };
}

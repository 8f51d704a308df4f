import { invalidInput } from '../../problems.ts';

/** The completion fields of a request. They complete a record, reopen it, or do neither (C33). */
type CompletionInput = { readonly completed?: number; readonly resume?: number };

/** The completion columns of a record. `date_completed` is in milliseconds since the epoch. */
type StoredCompletion = { readonly completed: number; readonly date_completed: number | null };

export const openCompletion: StoredCompletion = { completed: 0, date_completed: null };

/**
 * Converts a request for a task or subtask to stored columns (C33). Completing a completed record keeps its date.
 *
 * @param before the stored completion; by default that of an open record, for a record that is being created
 */
export function withCompletion<G extends CompletionInput>(
  given: G,
  before: StoredCompletion = openCompletion,
  { now }: { readonly now: number },
): Omit<G, keyof CompletionInput> & StoredCompletion {
  const { completed, resume, ...columns } = given;
  const reopens = resume === 1 || completed === 0;
  if (reopens && completed === 1) {
    throw invalidInput([{ field: 'resume', message: 'must not be given together with completed' }]);
  }
  if (reopens) return { ...columns, ...openCompletion };
  if (completed === 1 && before.completed === 0) return { ...columns, completed: 1, date_completed: now };
  return { ...columns, completed: before.completed, date_completed: before.date_completed };
}

/** Whether a change completes an open record. Only such a change is recorded as a completion (C33). */
export function isNewlyCompleted(before: StoredCompletion, stored: { readonly completed?: unknown }): boolean {
  return before.completed === 0 && stored.completed === 1;
}

import { invalidInput } from '../../problems.ts';

/** The completion fields of a request. They complete a record, reopen it, or do neither (C33). */
type CompletionInput = { readonly completed?: number; readonly resume?: number };

/** The completion columns of a record. `date_completed` is in milliseconds since the epoch. */
type StoredCompletion = { readonly completed: number; readonly date_completed: number | null };

export const notCompletedColumns: StoredCompletion = { completed: 0, date_completed: null };

/**
 * Converts a request for a task or subtask to stored columns (C33). Completing a completed record keeps its date.
 *
 * @param oldCompletion the stored completion; by default that of an open record, for a record that is being created
 */
export function toCompletionColumns<G extends CompletionInput>(
  input: G,
  oldCompletion: StoredCompletion = notCompletedColumns,
  { now }: { readonly now: number },
): Omit<G, keyof CompletionInput> & StoredCompletion {
  const { completed, resume, ...columns } = input;
  const isReopening = resume === 1 || completed === 0;
  if (isReopening && completed === 1) {
    throw invalidInput([{ field: 'resume', message: 'must not be given together with completed' }]);
  }
  if (isReopening) return { ...columns, ...notCompletedColumns };
  if (completed === 1 && oldCompletion.completed === 0) return { ...columns, completed: 1, date_completed: now };
  return { ...columns, completed: oldCompletion.completed, date_completed: oldCompletion.date_completed };
}

/** Whether a change reopens a completed record (X11). */
export function isReopened(oldCompletion: StoredCompletion, newValues: { readonly completed?: unknown }): boolean {
  return oldCompletion.completed === 1 && newValues.completed === 0;
}

/** Whether a change completes an open record. Only such a change is recorded as a completion (C33). */
export function isNewlyCompleted(
  oldCompletion: StoredCompletion,
  newValues: { readonly completed?: unknown },
): boolean {
  return oldCompletion.completed === 0 && newValues.completed === 1;
}

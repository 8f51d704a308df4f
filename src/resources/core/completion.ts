import { invalidInput } from '../../problems.ts';

/** What is given of completion: to complete, to reopen, or neither (C33). */
type Given = { readonly completed?: number; readonly resume?: number };

/** What is stored of it. */
type Completion = { readonly completed: number; readonly date_completed: number | null };

/** A record that is not complete. */
export const open: Completion = { completed: 0, date_completed: null };

/**
 * What is stored of what was given of a task or subtask (C33): completing what is complete keeps its date.
 *
 * @param before undefined for a record that is being created
 */
export function withCompletion<G extends Given>(
  given: G,
  before: Completion = open,
  { now }: { readonly now: number },
): Omit<G, keyof Given> & Completion {
  const { completed, resume, ...columns } = given;
  const reopens = resume === 1 || completed === 0;
  if (reopens && completed === 1) {
    throw invalidInput([{ field: 'resume', message: 'must not be given together with completed' }]);
  }
  if (reopens) return { ...columns, ...open };
  if (completed === 1 && before.completed === 0) return { ...columns, completed: 1, date_completed: now };
  return { ...columns, completed: before.completed, date_completed: before.date_completed };
}

/** Whether a change completes what was not complete: only that is told (C33). */
export function isCompleted(before: Completion, stored: { readonly completed?: unknown }): boolean {
  return before.completed === 0 && stored.completed === 1;
}

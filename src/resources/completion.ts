import { invalidInput } from '../problems.ts';

/** What a change asks for: to complete, to reopen, or neither (C33). */
export type CompletionInput = { readonly completed?: number; readonly resume?: number };

/** What is stored of it. */
export type Completion = { readonly completed: number; readonly date_completed: number | null };

/**
 * What becomes of a task or subtask (C33): completing what is complete keeps its date and tells nobody again.
 *
 * @param before what is stored; open for a record that is being created
 */
export function completionAfter(
  before: Completion,
  input: CompletionInput,
  now: number,
): Completion & { completes: boolean } {
  const reopens = input.resume === 1 || input.completed === 0;
  if (reopens && input.completed === 1) {
    throw invalidInput([{ field: 'resume', message: 'must not be given together with completed' }]);
  }
  if (reopens) return { completed: 0, date_completed: null, completes: false };
  if (input.completed === 1 && before.completed === 0) return { completed: 1, date_completed: now, completes: true };
  return { completed: before.completed, date_completed: before.date_completed, completes: false };
}

/** A record before it has ever been completed. */
export const open: Completion = { completed: 0, date_completed: null };

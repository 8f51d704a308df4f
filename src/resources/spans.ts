import { isDueBeforeStart } from '../http/dates.ts';
import { invalidInput } from '../problems.ts';

type Span = { readonly start_date: string | null; readonly due_date: string | null };

/**
 * C26: what is due before it starts is refused; C27: a change is judged by what would come of it, and the field that is
 * named is one that was given.
 */
export function mustBeInOrder(given: Partial<Span>, before: Span = { start_date: null, due_date: null }): void {
  const { start_date, due_date } = { ...before, ...given };
  if (!isDueBeforeStart(start_date, due_date)) return;
  throw invalidInput([
    given.due_date === undefined
      ? { field: 'start_date', message: 'must not be after due_date' }
      : { field: 'due_date', message: 'must not be before start_date' },
  ]);
}

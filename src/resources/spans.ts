import { isDueBeforeStart } from '../http/dates.ts';
import { invalidInput } from '../problems.ts';

/** C26: what is due before it starts is refused. */
export function mustBeInOrder(span: { start_date: string | null; due_date: string | null }): void {
  if (!isDueBeforeStart(span.start_date, span.due_date)) return;
  throw invalidInput([{ field: 'due_date', message: 'must not be before start_date' }]);
}

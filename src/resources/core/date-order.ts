import { isDueBeforeStart } from '../../http/fields/dates.ts';
import { invalidInput } from '../../problems.ts';

type Times<K extends string> = { readonly [key in K]?: string | null | undefined };

/**
 * A check that what ends does not end before it begins (C26). A change is judged by what would come of it (C27), and
 * the field that is named is one that was given.
 *
 * @param isWrong whether an end, given second, is before a begin; left out, as calendar times are in order
 */
export function inOrder<B extends string, E extends string>(
  begin: B,
  end: E,
  isWrong: (begin: string, end: string) => boolean = (one, other) => other < one,
) {
  return (given: Times<B | E>, before: Times<B | E> = {}): void => {
    const all: Times<B | E> = { ...before, ...given };
    if (!all[begin] || !all[end] || !isWrong(all[begin], all[end])) return;
    throw invalidInput([
      given[end] === undefined
        ? { field: begin, message: `must not be after ${end}` }
        : { field: end, message: `must not be before ${begin}` },
    ]);
  };
}

/** The days of an event, project, task or subtask. */
export const mustBeInOrder = inOrder('start_date', 'due_date', isDueBeforeStart);

import { isDueBeforeStart, readOnlyTimestamp } from '../../http/fields/dates.ts';
import { recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { invalidInput } from '../../problems.ts';

/** Fields that most resources end with: creation time, modification time and owner. */
export const commonFields = {
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  date_modified: readOnlyTimestamp('When it was last modified, UTC.'),
  user_id: recordIdOrNone('The user who created it. Only admins may give another user.'),
};

type DateFields<K extends string> = { readonly [key in K]?: string | null | undefined };

/**
 * Creates a check that the end of a record is not before its beginning (C26). If a change sets only one of the two
 * dates, the check uses the stored value of the other date (C27). The error names a field of the request.
 *
 * @param isEndBeforeBegin whether `end` is before `begin`; the default compares calendar times as text
 */
export function createDateOrderCheck<B extends string, E extends string>(
  beginField: B,
  endField: E,
  isEndBeforeBegin: (begin: string, end: string) => boolean = (beginDate, endDate) => endDate < beginDate,
) {
  return (input: DateFields<B | E>, oldRecord: DateFields<B | E> = {}): void => {
    const mergedDates: DateFields<B | E> = { ...oldRecord, ...input };
    if (
      !mergedDates[beginField] ||
      !mergedDates[endField] ||
      !isEndBeforeBegin(mergedDates[beginField], mergedDates[endField])
    )
      return;
    throw invalidInput([
      input[endField] === undefined
        ? { field: beginField, message: `must not be after ${endField}` }
        : { field: endField, message: `must not be before ${beginField}` },
    ]);
  };
}

/** Throws 400 if a record is due before it starts (C26). */
export const requireDateOrder = createDateOrderCheck('start_date', 'due_date', isDueBeforeStart);

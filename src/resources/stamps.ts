import { referenceOrNone, shownMoment } from '../http/fields.ts';

/** When a record was created and changed, and whose it is: the last fields of most nouns. */
export const stamps = {
  date_created: shownMoment('When it was created, UTC.'),
  date_modified: shownMoment('When it was last modified, UTC.'),
  user_id: referenceOrNone('Who created it. Only admins may name another user than themselves.'),
};

import { readOnlyTimestamp, resourceIdOrNone } from '../../http/fields/field-types.ts';

/** Creation, last change and owner: the last fields of most resources. */
export const stamps = {
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  date_modified: readOnlyTimestamp('When it was last modified, UTC.'),
  user_id: resourceIdOrNone('The user who created it. Only admins may give another user.'),
};

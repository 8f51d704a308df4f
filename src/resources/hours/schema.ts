import { shownId, shownMoment, shownNumber } from '../../http/fields.ts';
import { idParameter } from '../../http/query.ts';

/** What came of the attempts of one hook in one hour. */
export const hourFields = {
  hook_id: shownId('The hook.'),
  hour: shownMoment('When the hour begins, UTC.'),
  delivered: shownNumber('Attempts that were answered with 200.'),
  failed: shownNumber('Attempts that failed; faults of our own are neither.'),
  milliseconds: shownNumber('How long they took, on average.'),
};

export const hourParameters = {
  hook_id: idParameter('Of this hook alone.'),
  user_id: idParameter('Of this user instead of yourself; for admins.'),
};

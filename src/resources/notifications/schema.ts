import { type Kind, kinds } from '../../delivery/kinds.ts';
import { key, shownId, shownMoment, shownText, shownWord } from '../../http/fields.ts';
import { wordParameter } from '../../http/query.ts';

/** An occurrence, as the feed shows it (X2). */
export const notificationFields = {
  cursor: key('Its place in the account; the next entry has a higher one.'),
  kind: shownWord('What happened.', Object.keys(kinds), 'NotificationKind'),
  resource_url: shownText('The address of the record; of a deleted one, where it was.'),
  occurred_at: shownMoment('When it happened, UTC.'),
  user_id: shownId('Who caused it: the recorded creator of a new record, else whose key did it.'),
};

export const notificationParameters = {
  kind: wordParameter('Of this kind alone.', Object.keys(kinds) as Kind[]),
  scope: wordParameter('own: what you caused; account: what anybody of the account did, for admins.', [
    'own',
    'account',
  ]),
};

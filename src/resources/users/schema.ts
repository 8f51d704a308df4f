import { email, key, line, role, shownMoment, shownText } from '../../http/fields.ts';

/** A user of the account (C35). */
export const userFields = {
  user_id: key('Identifier of the user.'),
  email: email('E-mail address; unique in the account.', 'required'),
  first_name: line('First name.', 100),
  last_name: line('Last name.', 100),
  user_name: shownText('Both names.'),
  role: role('member, admin or owner.'),
  date_created: shownMoment('When the user was added, UTC.'),
};

import { key, label, line, shownFlag, shownId, shownMoment, shownText } from '../../http/fields.ts';
import { idParameter } from '../../http/query.ts';
import { triedPassphrase } from '../passphrases/passphrases.ts';

/** A browser that is signed in. */
export const sessionFields = {
  id: key('Identifier of the session.'),
  user_id: shownId('Who is signed in.'),
  date_created: shownMoment('When they signed in, UTC.'),
  last_used: shownMoment('When it was last used, UTC, to the minute.'),
  expires: shownMoment('When it ends by itself unless it is used before, UTC.'),
  agent: shownText('The browser, in words.'),
  source: shownText('The address they signed in from.'),
  current: shownFlag('It is the one that asks.'),
};

export const sessionParameters = {
  user_id: idParameter('Of this user; admins may name another one than themselves.'),
};

/** What signing in takes. */
export const signInFields = {
  domain: line('The account; may be left out where the service has exactly one.'),
  email: label('The e-mail address of the user.'),
  passphrase: triedPassphrase('The passphrase of the user.'),
};

/** What opening a session answers. */
export const signedInFields = { user_id: shownId('Who is signed in.') };

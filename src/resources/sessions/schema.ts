import {
  key,
  label,
  readOnlyFlag,
  readOnlyId,
  readOnlyText,
  readOnlyTimestamp,
  shortText,
} from '../../http/fields/field-types.ts';
import { idParameter } from '../../http/routes/query-parameters.ts';
import { triedPassphrase } from '../passphrases/passphrases.ts';

/** Fields of a session. */
export const sessionFields = {
  id: key('Identifier of the session.'),
  user_id: readOnlyId('Who is signed in.'),
  date_created: readOnlyTimestamp('When they signed in, UTC.'),
  last_used: readOnlyTimestamp('When it was last used, UTC, to the minute.'),
  expires: readOnlyTimestamp('When it ends by itself unless it is used before, UTC.'),
  agent: readOnlyText('The browser, in words.'),
  source: readOnlyText('The address they signed in from.'),
  current: readOnlyFlag('It is the one that asks.'),
};

export const sessionParameters = {
  user_id: idParameter('Of this user; admins may name another one than themselves.'),
};

/** Input fields of sign-in. */
export const signInFields = {
  domain: shortText('The account; may be left out where the service has exactly one.'),
  email: label('The e-mail address of the user.'),
  passphrase: triedPassphrase('The passphrase of the user.'),
};

export const signedInFields = { user_id: readOnlyId('Who is signed in.') };

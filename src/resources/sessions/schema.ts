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
  date_created: readOnlyTimestamp('When the user signed in, UTC.'),
  last_used: readOnlyTimestamp('When it was last used, UTC, to the minute.'),
  expires: readOnlyTimestamp('When it expires unless it is used, UTC.'),
  agent: readOnlyText('The browser.'),
  source: readOnlyText('The IP address of the sign-in.'),
  current: readOnlyFlag('Whether it is the session of this request.'),
};

export const sessionParameters = {
  user_id: idParameter('Another user instead of yourself; for admins.'),
};

/** Input fields of sign-in. */
export const signInFields = {
  domain: shortText('The domain of the account. Optional if the service has exactly one.'),
  email: label('The e-mail address of the user.'),
  passphrase: triedPassphrase('The passphrase of the user.'),
};

export const signedInFields = { user_id: readOnlyId('Who is signed in.') };

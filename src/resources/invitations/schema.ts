import { key, line, reference, shownFlag, shownId, shownMoment, shownOnce, shownText } from '../../http/fields.ts';
import { idFilter } from '../filters.ts';
import { newPassphrase } from '../passphrases/schema.ts';

/** A link by which a user sets a passphrase, once. */
export const invitationFields = {
  id: key('Identifier of the link.'),
  user_id: shownId('Whom it is for.'),
  made_by: shownId('Who made it; 0 for the command line and the first start.'),
  date_created: shownMoment('When it was made, UTC.'),
  expires: shownMoment('When it ends by itself, UTC.'),
};

/** What making one answers: the link, this once. */
export const issuedInvitationFields = {
  ...invitationFields,
  link: shownOnce('The link itself. It is shown this once and stored as a hash.'),
};

export const invitationInputFields = { user_id: reference('Whom it is for; not a user whose role is above your own.') };

export const invitationFilters = { user_id: idFilter('For this user.', 'invitations.user_id') };

/** What whoever has a link is told of it. */
export const openedFields = {
  email: shownText('The e-mail address of the user.'),
  user_name: shownText('Both names.'),
  domain: shownText('The domain of the account.'),
  company_name: shownText('The name of the account.'),
  has_passphrase: shownFlag('The user has a passphrase, and sets another one.'),
  expires: shownMoment('When the link ends by itself, UTC.'),
};

const token = line('What stands behind the last slash of the link.');

export const openInvitationFields = { token };

export const welcomeFields = {
  token,
  passphrase: newPassphrase('The passphrase; neither the e-mail address nor the domain.'),
};

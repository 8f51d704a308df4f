import { isText } from '../../http/body.ts';
import type { Field } from '../../http/field.ts';
import { shownId } from '../../http/fields.ts';

/** As long as a passphrase is, in characters. */
const SHORTEST = 12;
const LONGEST = 256;

function asked(says: string, least: number, must: string): Field<string, 'asked'> {
  return {
    mode: 'asked',
    says,
    accepts: { type: 'string', minLength: least, maxLength: LONGEST, 'x-must': must },
    // Blanks at its ends belong to it; what no keyboard makes does not.
    fault: (value) => (isText(`|${value}|`, 2, LONGEST + 2) ? undefined : must),
    parse: String,
    initial: undefined,
    answers: {},
    show: () => '',
  };
}

/** A passphrase as it is set. */
export const newPassphrase = (says: string) =>
  asked(says, SHORTEST, `must be a text of ${SHORTEST} to ${LONGEST} characters`);

/** A passphrase as somebody tries it: how long a good one is, is said where it is set. */
export const triedPassphrase = (says: string) => asked(says, 0, `must be a text of at most ${LONGEST} characters`);

/** What setting another passphrase takes. */
export const passphraseFields = {
  current: triedPassphrase('The passphrase as it is.'),
  passphrase: newPassphrase('The passphrase as it is to be; neither your e-mail address nor the domain.'),
};

/** What setting one answers. */
export const passphraseSetFields = { user_id: shownId('Whose passphrase it is.') };

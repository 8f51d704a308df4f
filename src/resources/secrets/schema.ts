import { key, shownMoment, shownOnce, whole } from '../../http/fields.ts';

const DAY = 24 * 3_600;

/** The longest that the secrets from before may go on signing, seconds. */
const LONGEST_OVERLAP = 7 * DAY;

/** A secret at the one moment when it can be seen (X8). */
export const secretFields = {
  hook_id: key('Identifier of the hook.'),
  secret: shownOnce('The secret itself, whsec_ and base64. It is shown this once.'),
  date_created: shownMoment('Since when it signs, UTC.'),
  previous_until: shownMoment('Until when the secret before it signs, too, UTC.'),
};

/** What making a secret takes. */
export const secretInputFields = {
  overlap: {
    ...whole('For how many seconds the secret before it goes on signing, too; a day when left out.', LONGEST_OVERLAP),
    initial: DAY,
  },
};

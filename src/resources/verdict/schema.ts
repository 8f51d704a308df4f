import { answerSchema } from '../../http/field.ts';
import { shownText, shownWord } from '../../http/fields.ts';
import type { Parameter } from '../../http/query.ts';

/** Whether an address would be taken as a target. */
export const verdictFields = {
  verdict: shownWord('Whether it would, or why not.', ['allowed', 'unresolved', 'forbidden', 'malformed', 'taken']),
  says: shownText('Why, in words that follow "target_url"; never an address.'),
};

export const verdictSchema = answerSchema(verdictFields);

export const verdictParameters = {
  target_url: {
    says: 'The address, as far as it is written.',
    schema: { type: 'string' },
    must: 'must be given once',
    read: (text) => text,
  } as Parameter<string>,
};

import { hookKinds } from '../../delivery/kinds.ts';
import {
  key,
  shownFlag,
  shownId,
  shownMoment,
  shownNumber,
  shownRecords,
  shownText,
  shownWord,
} from '../../http/fields.ts';
import { idParameter, wordParameter } from '../../http/query.ts';

export const deliveryStates = ['owed', 'delivered', 'undelivered', 'failed'] as const;

/** One occurrence owed to one hook (X3). */
export const deliveryFields = {
  id: key('Identifier of the delivery; its Webhook-Id in every attempt.'),
  hook_id: shownId('The hook it is owed to.'),
  event: shownWord('The kind of occurrence, or test.', [...hookKinds, 'test']),
  resource_url: shownText('The address that is told.'),
  state: shownWord(
    'owed; delivered; undelivered: the hook ended before; failed: a test that was not answered with 200.',
    deliveryStates,
  ),
  date_created: shownMoment('When it became owed, UTC.'),
  date_settled: shownMoment('When it was delivered or given up, UTC.'),
  last_outcome: shownText('What the last attempt came to. Empty before the first.'),
};

const attemptFields = {
  attempted_at: shownMoment('When it began, UTC.'),
  outcome: shownText('What it came to, in a word.'),
  milliseconds: shownNumber('How long it took.'),
  counted: shownFlag('It counted as a failure.'),
  reason: shownText('Why, in a sentence.'),
};

/** Attempts that one delivery shows: who asks for more of them sees the last. */
export const MAX_ATTEMPTS = 1_000;

const attempts = shownRecords(
  'Every attempt (of more than 1000, the last 1000), oldest first: when, what it came to, how long it took, whether it counted as a failure, and why.',
  attemptFields,
  'DeliveryAttempt',
);

/** One delivery with its attempts. */
export const deliveryDetailFields = { ...deliveryFields, attempts };

export const deliveryParameters = {
  hook_id: idParameter('Of this hook.'),
  state: wordParameter('In this state.', deliveryStates),
  user_id: idParameter('Of this user instead of yourself; for admins.'),
};

import { type Kind, kinds } from '../../delivery/outbox/event-kinds.ts';
import type { Shown } from '../../http/fields/field.ts';
import {
  key,
  readOnlyId,
  readOnlyNumber,
  readOnlyRecords,
  readOnlyText,
  readOnlyTimestamp,
  readOnlyWord,
} from '../../http/fields/field-types.ts';
import { parseId } from '../../http/fields/ids.ts';
import { pagingParameters } from '../../http/routes/pagination.ts';
import { idParameter, type Parameter, wordParameter } from '../../http/routes/query-parameters.ts';
import { deliveryStates } from '../deliveries/deliveries.ts';

/** The outcome of an occurrence at one hook. */
const outcomeFields = {
  id: key('Identifier of the delivery.'),
  hook_id: readOnlyId('The hook it is pending for.'),
  target_url: readOnlyText('The address that is told; empty when the hook is not kept any more.'),
  user_id: readOnlyId('Whose hook it is.'),
  state: readOnlyWord('As with deliveries.', deliveryStates),
  last_outcome: readOnlyText('What the last attempt came to. Empty before the first.'),
  attempts: readOnlyNumber('How many attempts were made.'),
  milliseconds: readOnlyNumber('How long the last one took.'),
  created_at: readOnlyTimestamp('When it became pending, UTC.'),
  date_finalized: readOnlyTimestamp('When it was delivered or given up, UTC.'),
  fetched_at: readOnlyTimestamp(
    'When a key of the user has last fetched the record, if that was after it became pending, UTC.',
  ),
};

export type OutcomeRow = Shown<typeof outcomeFields>;

/** An occurrence with its deliveries. */
export const activityFields = {
  cursor: key('Its place in the account.'),
  kind: readOnlyWord('What happened.', Object.keys(kinds)),
  resource_url: readOnlyText('The address of the record; of a deleted one, where it was.'),
  record_id: readOnlyId('The record.'),
  user_id: readOnlyId('Who caused it.'),
  occurred_at: readOnlyTimestamp('When it happened, UTC.'),
  deliveries: readOnlyRecords(
    'What came of it at each hook it was pending for; of an occurrence that more than 500 hooks are told of, at as many.',
    outcomeFields,
  ),
};

/** Maximum and default number of entries on a page. */
const MAX_PAGE_SIZE = 200;
export const USUAL_ENTRIES = 50;

export const activityParameters = {
  before: {
    description: 'The cursor before which to go on; left out: from the newest.',
    schema: { type: 'string', pattern: '^\\d{1,16}$' },
    errorMessage: 'must be a cursor that was answered before',
    read: parseId,
  } as Parameter<number>,
  limit: {
    ...pagingParameters.limit,
    description: `How many entries to answer; more than ${MAX_PAGE_SIZE} is taken as ${MAX_PAGE_SIZE}.`,
    schema: { type: 'integer', minimum: 1, default: USUAL_ENTRIES },
    read(text: string) {
      const limit = pagingParameters.limit.read(text);
      return limit === undefined ? undefined : Math.min(limit, MAX_PAGE_SIZE);
    },
  } as Parameter<number>,
  kind: wordParameter('Of this kind alone.', Object.keys(kinds) as Kind[]),
  hook_id: idParameter('What this hook was pending alone; whoever may see the hook may see that.'),
  scope: wordParameter('own: what you caused; account: what anybody of the account did, for admins.', [
    'own',
    'account',
  ]),
};

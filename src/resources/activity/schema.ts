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
  hook_id: readOnlyId('The hook.'),
  target_url: readOnlyText('The target of the hook; empty if the hook is no longer stored.'),
  user_id: readOnlyId('The user of the hook.'),
  state: readOnlyWord('The state of the delivery.', deliveryStates),
  last_outcome: readOnlyText('Outcome of the last attempt; empty before the first.'),
  attempts: readOnlyNumber('Number of attempts.'),
  milliseconds: readOnlyNumber('Duration of the last attempt in milliseconds.'),
  created_at: readOnlyTimestamp('When it became pending, UTC.'),
  date_finalized: readOnlyTimestamp('When it was finalized, UTC.'),
  fetched_at: readOnlyTimestamp(
    'When a key of the user last fetched the record, if after the delivery became pending, UTC.',
  ),
};

export type OutcomeRow = Shown<typeof outcomeFields>;

/** An occurrence with its deliveries. */
export const activityFields = {
  cursor: key('Its position in the feed.'),
  kind: readOnlyWord('What happened.', Object.keys(kinds)),
  resource_url: readOnlyText('The address of the record, also of a deleted one.'),
  record_id: readOnlyId('The record.'),
  user_id: readOnlyId('The user who caused it.'),
  occurred_at: readOnlyTimestamp('When it happened, UTC.'),
  deliveries: readOnlyRecords('Its deliveries; at most 500.', outcomeFields),
};

/** Maximum and default number of entries on a page. */
const MAX_PAGE_SIZE = 200;
export const USUAL_ENTRIES = 50;

export const activityParameters = {
  before: {
    description: 'Only entries before this cursor. Default: the newest.',
    schema: { type: 'string', pattern: '^\\d{1,16}$' },
    errorMessage: 'must be a cursor from a response',
    read: parseId,
  } as Parameter<number>,
  limit: {
    ...pagingParameters.limit,
    description: `Number of entries; more than ${MAX_PAGE_SIZE} is taken as ${MAX_PAGE_SIZE}.`,
    schema: { type: 'integer', minimum: 1, default: USUAL_ENTRIES },
    read(text: string) {
      const limit = pagingParameters.limit.read(text);
      return limit === undefined ? undefined : Math.min(limit, MAX_PAGE_SIZE);
    },
  } as Parameter<number>,
  kind: wordParameter('Only this kind.', Object.keys(kinds) as Kind[]),
  hook_id: idParameter('Only occurrences with a delivery to this hook; needs access to the hook.'),
  scope: wordParameter('own: your occurrences; account: those of all users, for admins.', ['own', 'account']),
};

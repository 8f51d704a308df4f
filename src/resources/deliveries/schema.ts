import { hookKinds } from '../../delivery/kinds.ts';
import { showMoment } from '../../http/dates.ts';
import type { Field } from '../../http/field.ts';
import { key, shownId, shownMoment, shownText, shownWord } from '../../http/fields.ts';
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

export type AttemptRow = {
  readonly attempted_at: number;
  readonly outcome: string;
  readonly milliseconds: number;
  readonly counted: number;
  readonly reason: string;
};

const STRING = { type: 'string' };

const attempts: Field<readonly AttemptRow[], 'shown'> = {
  mode: 'shown',
  says: 'Every attempt, oldest first: when, what it came to, how long it took, whether it counted as a failure, and why.',
  accepts: {},
  parse: () => [],
  initial: undefined,
  answers: {
    type: 'array',
    items: {
      type: 'object',
      required: ['attempted_at', 'outcome', 'milliseconds', 'counted', 'reason'],
      properties: {
        attempted_at: STRING,
        outcome: STRING,
        milliseconds: STRING,
        counted: { enum: ['0', '1'] },
        reason: STRING,
      },
    },
  },
  show: (rows) =>
    rows.map((row) => ({
      attempted_at: showMoment(row.attempted_at),
      outcome: row.outcome,
      milliseconds: String(row.milliseconds),
      counted: String(row.counted),
      reason: row.reason,
    })),
};

/** One delivery with its attempts. */
export const deliveryDetailFields = { ...deliveryFields, attempts };

export const deliveryParameters = {
  hook_id: idParameter('Of this hook.'),
  state: wordParameter('In this state.', deliveryStates),
  user_id: idParameter('Of this user instead of yourself; for admins.'),
};

import { MAX_TARGET_LENGTH, parseTarget } from '../../delivery/guard.ts';
import { hookKinds, isHookKind, type Kind } from '../../delivery/kinds.ts';
import { endedReasons } from '../../delivery/policy.ts';
import type { Field } from '../../http/field.ts';
import { key, shownFlag, shownId, shownMoment, shownNumber, shownText, shownWord } from '../../http/fields.ts';
import { idParameter } from '../../http/query.ts';
import { condition, wordFilter } from '../filters.ts';

/** A hook, as its owner sees it (X1). */
export const hookFields = {
  id: key('Identifier of the hook.'),
  event: shownWord('The kind it is told of.', hookKinds, 'HookKind'),
  target_url: shownText('The address that is notified.'),
  user_id: shownId('Whose hook it is.'),
  state: shownWord('live, failing (between a failure and the next 200), or ended.', ['live', 'failing', 'ended']),
  failures: shownNumber('Failures in a row; the third ends the hook.'),
  next_attempt_at: shownMoment('While it is failing: when it is tried again, UTC.'),
  last_outcome: shownText('What the last attempt came to: a status, or one word. Empty before the first.'),
  date_created: shownMoment('When it was created, UTC.'),
  date_ended: shownMoment('When it ended, UTC.'),
  ended_reason: shownWord('Why it ended. Empty while it lives.', ['', ...endedReasons]),
  signed: shownFlag('Its notifications are signed.'),
  secret_created: shownMoment('Since when its newest secret signs, UTC.'),
  secret_previous_until: shownMoment('Until when the secret before it signs, too, UTC.'),
};

const targetUrl: Field<string, 'written'> = {
  mode: 'written',
  says: 'The address to notify: absolute, http or https, at most 2,048 characters, unique, hard to guess.',
  accepts: {
    type: 'string',
    maxLength: MAX_TARGET_LENGTH,
    'x-must': 'must be an absolute http or https address of at most 2,048 characters',
  },
  fault(value) {
    const parsed = parseTarget(value);
    return 'fault' in parsed ? parsed.fault : undefined;
  },
  parse: String,
  initial: undefined,
  answers: {},
  show: (stored) => stored,
};

const event: Field<Kind, 'written'> = {
  mode: 'written',
  says: 'The kind to be told of.',
  accepts: { title: 'HookKind', enum: hookKinds, 'x-must': `must be one of ${hookKinds.join(', ')}` },
  parse(value) {
    if (!isHookKind(value)) throw new Error('an unknown kind passed validation');
    return value;
  },
  initial: undefined,
  answers: {},
  show: (stored) => stored,
};

/** What subscribing takes (the specification, section 4). */
export const hookInputFields = { target_url: targetUrl, event };

/** What subscribing answers: the id, at top level. */
export const subscribedSchema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'string', pattern: '^\\d+$', description: 'Identifier of the hook, needed to unsubscribe.' },
  },
};

export const hookFilters = {
  state: wordFilter('live, failing or ended.', {
    live: condition('hooks.date_ended is null and hooks.failures = 0'),
    failing: condition('hooks.date_ended is null and hooks.failures > 0'),
    ended: condition('hooks.date_ended is not null'),
  }),
};

/** Whose; for admins. */
export const ownerParameter = { user_id: idParameter('Of this user instead of yourself; for admins.') };

import { endedReasons } from '../../delivery/dispatcher/retry-policy.ts';
import { hookKinds, isHookKind, type OccurrenceKind } from '../../delivery/outbox/event-kinds.ts';
import { MAX_TARGET_LENGTH, parseTarget } from '../../delivery/transport/ssrf-guard.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import { createParser, type Field } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits, readOnlyEnum, readOnlyFlag, readOnlyText } from '../../http/fields/scalar-fields.ts';
import { idParameter } from '../../http/routes/query-parameters.ts';
import { enumFilter, sqlCondition } from '../core/filters.ts';

/** Response fields of a hook (X1). */
export const hookFields = {
  id: ownRecordId('Identifier of the hook.'),
  event: readOnlyEnum('The kind of occurrence.', hookKinds, 'HookKind'),
  target_url: readOnlyText('The address that is notified.'),
  user_id: readOnlyId('The user of the hook.'),
  state: readOnlyEnum('live, failing (between a failure and the next 200), or ended.', ['live', 'failing', 'ended']),
  failures: readOnlyDigits('Failures in a row; the third ends the hook.'),
  next_attempt_at: readOnlyTimestamp('Time of the next attempt while it is failing, UTC.'),
  last_outcome: readOnlyText('Outcome of the last attempt: a status, or one word; empty before the first.'),
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  date_ended: readOnlyTimestamp('When it ended, UTC.'),
  ended_reason: readOnlyEnum('Why it ended; empty while it is live.', ['', ...endedReasons]),
  signed: readOnlyFlag('Whether its notifications are signed.'),
  secret_created: readOnlyTimestamp('When its newest secret was created, UTC.'),
  secret_previous_until: readOnlyTimestamp('Until when the previous secret also signs, UTC.'),
};

const TARGET_REQUIREMENT = 'must be an absolute http or https address of at most 2,048 characters';

const targetUrlField: Field<string, 'writable'> = {
  mode: 'writable',
  description: 'The address to notify: absolute, http or https, at most 2,048 characters, unique, hard to guess.',
  inputSchema: {
    type: 'string',
    maxLength: MAX_TARGET_LENGTH,
    'x-must': TARGET_REQUIREMENT,
  },
  parse(value) {
    if (typeof value !== 'string' || value.length > MAX_TARGET_LENGTH) return { error: TARGET_REQUIREMENT };
    const parsedTarget = parseTarget(value);
    return 'fault' in parsedTarget ? { error: parsedTarget.fault } : { value };
  },
  default: undefined,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

const KIND_REQUIREMENT = `must be one of ${hookKinds.join(', ')}`;

const occurrenceKindField: Field<OccurrenceKind, 'writable'> = {
  mode: 'writable',
  description: 'The kind of occurrence to subscribe to.',
  inputSchema: { title: 'HookKind', enum: hookKinds, 'x-must': KIND_REQUIREMENT },
  parse: createParser(KIND_REQUIREMENT, (value) => (isHookKind(value) ? value : undefined)),
  default: undefined,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

/** Input fields of a subscription (the specification, section 4). */
export const hookInputFields = { target_url: targetUrlField, event: occurrenceKindField };

/** Response schema of a subscription. The id is at the top level, not in `data` (C11). */
export const subscriptionResponseSchema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'string', pattern: '^\\d+$', description: 'Identifier of the hook, needed to unsubscribe.' },
  },
};

export const hookFilters = {
  state: enumFilter('live, failing or ended.', {
    live: sqlCondition('hooks.date_ended is null and hooks.failures = 0'),
    failing: sqlCondition('hooks.date_ended is null and hooks.failures > 0'),
    ended: sqlCondition('hooks.date_ended is not null'),
  }),
};

export const ownerParameter = { user_id: idParameter('Another user instead of yourself; for admins.') };

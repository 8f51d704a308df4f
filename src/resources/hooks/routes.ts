import { endedReasons } from '../../delivery/dispatcher/retry-policy.ts';
import { type HookAlerts, noAlerts } from '../../delivery/outbox/end-hooks.ts';
import { hookKinds, isHookKind, type Kind } from '../../delivery/outbox/event-kinds.ts';
import { MAX_TARGET_LENGTH, parseTarget, type SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import type { Field } from '../../http/fields/field.ts';
import {
  key,
  readOnlyFlag,
  readOnlyId,
  readOnlyNumber,
  readOnlyText,
  readOnlyTimestamp,
  readOnlyWord,
} from '../../http/fields/field-types.ts';
import { creation } from '../../http/fields/validate-body.ts';
import { idParameter } from '../../http/routes/query-parameters.ts';
import { action, get, list, type Route, remove } from '../../http/routes/route.ts';
import type { Log } from '../../log.ts';
import type { ProblemCode } from '../../problems.ts';
import { condition, wordFilter } from '../core/filters.ts';
import { deliveryFields } from '../deliveries/deliveries.ts';
import { getHook, listHooks, requireAllowedTarget, restore, subscribe, test, unsubscribe } from './actions.ts';

/** Response fields of a hook (X1). */
export const hookFields = {
  id: key('Identifier of the hook.'),
  event: readOnlyWord('The kind of occurrence.', hookKinds, 'HookKind'),
  target_url: readOnlyText('The address that is notified.'),
  user_id: readOnlyId('The user of the hook.'),
  state: readOnlyWord('live, failing (between a failure and the next 200), or ended.', ['live', 'failing', 'ended']),
  failures: readOnlyNumber('Failures in a row; the third ends the hook.'),
  next_attempt_at: readOnlyTimestamp('Time of the next attempt while it is failing, UTC.'),
  last_outcome: readOnlyText('Outcome of the last attempt: a status, or one word; empty before the first.'),
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  date_ended: readOnlyTimestamp('When it ended, UTC.'),
  ended_reason: readOnlyWord('Why it ended; empty while it is live.', ['', ...endedReasons]),
  signed: readOnlyFlag('Whether its notifications are signed.'),
  secret_created: readOnlyTimestamp('When its newest secret was created, UTC.'),
  secret_previous_until: readOnlyTimestamp('Until when the previous secret also signs, UTC.'),
};

const targetUrl: Field<string, 'written'> = {
  mode: 'written',
  description: 'The address to notify: absolute, http or https, at most 2,048 characters, unique, hard to guess.',
  inputSchema: {
    type: 'string',
    maxLength: MAX_TARGET_LENGTH,
    'x-must': 'must be an absolute http or https address of at most 2,048 characters',
  },
  validate(value) {
    const parsed = parseTarget(value);
    return 'fault' in parsed ? parsed.fault : undefined;
  },
  parse: String,
  default: undefined,
  outputSchema: {},
  serialize: (stored) => stored,
};

const event: Field<Kind, 'written'> = {
  mode: 'written',
  description: 'The kind of occurrence to subscribe to.',
  inputSchema: { title: 'HookKind', enum: hookKinds, 'x-must': `must be one of ${hookKinds.join(', ')}` },
  parse(value) {
    if (!isHookKind(value)) throw new Error('an unknown kind passed validation');
    return value;
  },
  default: undefined,
  outputSchema: {},
  serialize: (stored) => stored,
};

/** Input fields of a subscription (the specification, section 4). */
export const hookInputFields = { target_url: targetUrl, event };

/** Response to a subscription: the id at top level, not in `data` (C11). */
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

export const ownerParameter = { user_id: idParameter('Another user instead of yourself; for admins.') };

/** Quotas of an account: live hooks and pending deliveries; undefined for no limit. */
export type Quotas = { readonly hooks: number | undefined; readonly pending: number | undefined };

export type HookPorts = {
  guard: SsrfGuard;
  log: Log;
  baseUrl: () => string;
  notices?: HookAlerts;
  quotas?: Quotas;
};

const NO_QUOTAS: Quotas = { hooks: undefined, pending: undefined };

export function hookRoutes(ports: HookPorts): readonly Route[] {
  const { guard, log, baseUrl, notices: alerts = noAlerts, quotas = NO_QUOTAS } = ports;
  const input = creation(hookInputFields);
  const hookQuota: ProblemCode[] = quotas.hooks === undefined ? [] : ['too_many_hooks'];
  const pendingQuota: ProblemCode[] = quotas.pending === undefined ? [] : ['pending_quota_exceeded'];
  return [
    list({
      path: '/hooks',
      description: 'Lists your hooks, including ended ones.',
      permission: 'hooks:read',
      parameters: { ...hookFilters, ...ownerParameter },
      fields: hookFields,
      call: listHooks,
    }),
    {
      method: 'POST',
      path: '/hooks',
      description: 'Subscribes a target to a kind of occurrence.',
      permission: 'hooks:write',
      parameters: {},
      body: input.schema,
      status: 201,
      answer: subscribedSchema,
      records: [],
      conditional: false,
      problems: ['target_taken', ...hookQuota],
      mode: 'write',
      // With a hook quota the lock is exclusive: otherwise two concurrent requests could both pass the check.
      lockMode: quotas.hooks === undefined ? 'shared' : 'exclusive',
      prepare: (caller, { body }) =>
        requireAllowedTarget(guard, caller, input.read(body), (explanation) =>
          log.warn({ event: 'target.forbidden', account_id: caller.accountId, user_id: caller.userId, explanation }),
        ),
      async run(write, caller, { body }) {
        const id = await subscribe(write, caller, input.read(body), quotas.hooks);
        return { body: { id: String(id) }, created: `/hooks/${id}` };
      },
    },
    get({
      path: '/hooks/{hook_id}',
      description: 'Returns a hook; an ended one for 30 days.',
      permission: 'hooks:read',
      fields: hookFields,
      call: (view, caller, ids) => getHook(view, caller, ids.hook_id),
    }),
    remove({
      path: '/hooks/{hook_id}',
      description: 'Unsubscribes. After the answer no new attempt begins.',
      permission: 'hooks:write',
      records: [],
      call: (write, caller, ids) => unsubscribe(write, caller, ids.hook_id, alerts),
    }),
    action({
      path: '/hooks/{hook_id}/restore',
      description: 'Restores an ended hook and sends what it missed.',
      permission: 'hooks:write',
      status: 200,
      fields: hookFields,
      problems: ['target_taken', ...hookQuota, ...pendingQuota],
      call: (write, caller, ids) => restore(write, caller, ids.hook_id, quotas.hooks),
    }),
    action({
      path: '/hooks/{hook_id}/test',
      description: 'Sends a notification of the hook itself immediately, also during a backoff.',
      permission: 'hooks:write',
      status: 202,
      fields: deliveryFields,
      problems: ['hook_ended', ...pendingQuota],
      call: (write, caller, ids) => test(write, caller, ids.hook_id, baseUrl()),
    }),
  ];
}

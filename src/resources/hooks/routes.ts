import { type EnqueueHookAlerts, skipHookAlerts } from '../../delivery/outbox/end-hooks.ts';
import type { SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { createCreationBodySpec } from '../../http/fields/validate-body.ts';
import {
  defineActionRoute,
  defineDeleteRoute,
  defineGetRoute,
  defineListRoute,
  type Route,
} from '../../http/routes/route.ts';
import type { Log } from '../../log.ts';
import type { ProblemCode } from '../../problems.ts';
import { deliveryFields } from '../deliveries/deliveries.ts';
import {
  getHook,
  listHooks,
  requireAllowedTarget,
  restoreEndedHook,
  subscribe,
  testHook,
  unsubscribe,
} from './actions.ts';
import { hookFields, hookFilters, hookInputFields, ownerParameter, subscriptionSchema } from './schema.ts';

/** Quotas of an account for live hooks and for pending deliveries. Undefined means no limit. */
export type Quotas = { readonly hooks: number | undefined; readonly pending: number | undefined };

export type HookDeps = {
  guard: SsrfGuard;
  log: Log;
  baseUrl: () => string;
  hookAlerts?: EnqueueHookAlerts;
  quotas?: Quotas;
};

const NO_QUOTAS: Quotas = { hooks: undefined, pending: undefined };

export function createHookRoutes(deps: HookDeps): readonly Route[] {
  const { guard, log, baseUrl, hookAlerts: enqueueAlerts = skipHookAlerts, quotas = NO_QUOTAS } = deps;
  const bodySpec = createCreationBodySpec(hookInputFields);
  const hookQuotaProblems: ProblemCode[] = quotas.hooks === undefined ? [] : ['too_many_hooks'];
  const pendingQuotaProblems: ProblemCode[] = quotas.pending === undefined ? [] : ['pending_quota_exceeded'];
  return [
    defineListRoute({
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
      body: bodySpec.schema,
      status: 201,
      responseSchema: subscriptionSchema,
      recordedKinds: [],
      supportsPreconditions: false,
      problems: ['target_taken', ...hookQuotaProblems],
      mode: 'write',
      // With a hook quota, the lock is exclusive. Otherwise, two concurrent requests could both pass the check.
      lockMode: quotas.hooks === undefined ? 'shared' : 'exclusive',
      prepare: (caller, { body }) =>
        requireAllowedTarget(guard, caller, bodySpec.parse(body), (explanation) =>
          log.warn({ event: 'target.forbidden', account_id: caller.accountId, user_id: caller.userId, explanation }),
        ),
      async run(write, caller, { body }) {
        const id = await subscribe(write, caller, bodySpec.parse(body), quotas.hooks);
        return { body: { id: String(id) }, created: `/hooks/${id}` };
      },
    },
    defineGetRoute({
      path: '/hooks/{hook_id}',
      description: 'Returns a hook; an ended one for 30 days.',
      permission: 'hooks:read',
      fields: hookFields,
      call: (view, caller, ids) => getHook(view, caller, ids.hook_id),
    }),
    defineDeleteRoute({
      path: '/hooks/{hook_id}',
      description: 'Unsubscribes. After the answer no new attempt begins.',
      permission: 'hooks:write',
      recordedKinds: [],
      call: (write, caller, ids) => unsubscribe(write, caller, ids.hook_id, enqueueAlerts),
    }),
    defineActionRoute({
      path: '/hooks/{hook_id}/restore',
      description: 'Restores an ended hook and sends what it missed.',
      permission: 'hooks:write',
      status: 200,
      fields: hookFields,
      problems: ['target_taken', ...hookQuotaProblems, ...pendingQuotaProblems],
      call: (write, caller, ids) => restoreEndedHook(write, caller, ids.hook_id, quotas.hooks),
    }),
    defineActionRoute({
      path: '/hooks/{hook_id}/test',
      description: 'Sends a notification of the hook itself immediately, also during a backoff.',
      permission: 'hooks:write',
      status: 202,
      fields: deliveryFields,
      problems: ['hook_ended', ...pendingQuotaProblems],
      call: (write, caller, ids) => testHook(write, caller, ids.hook_id, baseUrl()),
    }),
  ];
}

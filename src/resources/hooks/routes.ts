import { type EnqueueHookAlerts, skipHookAlerts } from '../../delivery/outbox/end-hooks.ts';
import type { SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { createCreationBodySpec } from '../../http/fields/field.ts';
import {
  defineActionRoute,
  defineCreateRoute,
  defineDeleteRoute,
  defineGetRoute,
  defineListRoute,
  defineUpdateRoute,
} from '../../http/routes/define-routes.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Log } from '../../log.ts';
import type { Caller } from '../../permissions.ts';
import type { ProblemCode } from '../../problems.ts';
import { deliveryFields } from '../deliveries/deliveries.ts';
import { changeHook, replayHook, requestHookTest, restoreEndedHook, subscribe, unsubscribe } from './actions.ts';
import { requireAllowedTarget, resolveEvents } from './check-subscription.ts';
import { getHook, listHooks } from './read-hooks.ts';
import {
  hookFields,
  hookFilters,
  hookInputFields,
  ownerParameter,
  replayFields,
  replayInputFields,
  requiredEventField,
  subscriptionResponseSchema,
} from './schema.ts';

/** Quotas of an account for live hooks and for pending deliveries. Undefined means no limit. */
export type Quotas = { readonly maxLiveHooks: number | undefined; readonly maxPendingDeliveries: number | undefined };

type HookDeps = {
  guard: SsrfGuard;
  log: Log;
  baseUrl: () => string;
  enqueueAlerts?: EnqueueHookAlerts;
  quotas?: Quotas;
};

const NO_QUOTAS: Quotas = { maxLiveHooks: undefined, maxPendingDeliveries: undefined };

export function createHookRoutes(deps: HookDeps): readonly Route[] {
  const { guard, log, baseUrl, enqueueAlerts = skipHookAlerts, quotas = NO_QUOTAS } = deps;
  const bodySpec = createCreationBodySpec(hookInputFields);
  // Without `events`, the specification requires `event`.
  const eventBodySpec = createCreationBodySpec({ ...hookInputFields, event: requiredEventField });
  const parseSubscription = (body: unknown) =>
    (typeof body === 'object' && body !== null && 'events' in body ? bodySpec : eventBodySpec).parse(body);
  const hookQuotaProblems: ProblemCode[] = quotas.maxLiveHooks === undefined ? [] : ['too_many_hooks'];
  const pendingQuotaProblems: ProblemCode[] =
    quotas.maxPendingDeliveries === undefined ? [] : ['pending_quota_exceeded'];
  const checkTarget = (caller: Caller, target: string) =>
    requireAllowedTarget(guard, target, (explanation) =>
      log.warn({ event: 'target.forbidden', account_id: caller.accountId, user_id: caller.userId, explanation }),
    );
  return [
    defineListRoute({
      path: '/hooks',
      description: 'Lists your hooks, including ended ones.',
      permission: 'hooks:read',
      parameters: { ...hookFilters, ...ownerParameter },
      fields: hookFields,
      handle: listHooks,
    }),
    {
      method: 'POST',
      path: '/hooks',
      description: 'Subscribes a target to kinds of occurrences.',
      permission: 'hooks:write',
      parameters: {},
      bodySchema: bodySpec.schema,
      status: 201,
      responseSchema: subscriptionResponseSchema,
      recordedKinds: [],
      supportsPreconditions: false,
      problems: ['target_taken', ...hookQuotaProblems],
      mode: 'write',
      // With a hook quota, the lock is exclusive. Otherwise, two concurrent requests could both pass the check.
      lockMode: quotas.maxLiveHooks === undefined ? 'shared' : 'exclusive',
      prepare(caller, { body }) {
        const input = parseSubscription(body);
        resolveEvents(caller, input);
        return checkTarget(caller, input.target_url);
      },
      async run(write, caller, { body }) {
        const id = await subscribe(write, caller, parseSubscription(body), quotas.maxLiveHooks);
        return { body: { id: String(id) }, createdPath: `/hooks/${id}` };
      },
    },
    defineGetRoute({
      path: '/hooks/{hook_id}',
      description: 'Returns a hook; an ended one for 30 days.',
      permission: 'hooks:read',
      fields: hookFields,
      handle: (view, caller, ids) => getHook(view, caller, ids.hook_id),
    }),
    defineUpdateRoute({
      path: '/hooks/{hook_id}',
      description: 'Changes a hook. After the response no new attempt uses its old settings.',
      permission: 'hooks:write',
      fields: hookFields,
      inputFields: hookInputFields,
      recordedKinds: [],
      problems: ['target_taken', 'hook_ended'],
      async prepare(caller, { target_url: target }) {
        if (target !== undefined) await checkTarget(caller, target);
      },
      handle: (write, caller, input, ids) => changeHook(write, caller, ids.hook_id, input),
    }),
    {
      ...defineCreateRoute({
        path: '/hooks/{hook_id}/replay',
        description: 'Sends the deliveries of a time interval again, each with its Webhook-Id. Failures do not count.',
        permission: 'hooks:write',
        fields: replayFields,
        inputFields: replayInputFields,
        recordedKinds: [],
        lockMode: 'exclusive',
        location: { collectionPath: '/hooks', idField: 'hook_id' },
        problems: ['hook_ended', 'hook_disabled'],
        handle: (write, caller, input, ids) => replayHook(write, caller, ids.hook_id, input),
      }),
      status: 202,
    },
    defineDeleteRoute({
      path: '/hooks/{hook_id}',
      description: 'Unsubscribes. After the answer no new attempt begins.',
      permission: 'hooks:write',
      recordedKinds: [],
      handle: (write, caller, ids) => unsubscribe(write, caller, ids.hook_id, enqueueAlerts),
    }),
    defineActionRoute({
      path: '/hooks/{hook_id}/restore',
      description: 'Restores an ended hook and sends what it missed.',
      permission: 'hooks:write',
      status: 200,
      fields: hookFields,
      problems: ['target_taken', ...hookQuotaProblems, ...pendingQuotaProblems],
      handle: (write, caller, ids) => restoreEndedHook(write, caller, ids.hook_id, quotas.maxLiveHooks),
    }),
    defineActionRoute({
      path: '/hooks/{hook_id}/test',
      description: 'Sends a notification of the hook itself immediately, also during a backoff.',
      permission: 'hooks:write',
      status: 202,
      fields: deliveryFields,
      problems: ['hook_ended', 'hook_disabled', ...pendingQuotaProblems],
      handle: (write, caller, ids) => requestHookTest(write, caller, ids.hook_id, baseUrl()),
    }),
  ];
}

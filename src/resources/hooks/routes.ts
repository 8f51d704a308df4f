import type { SsrfGuard } from '../../delivery/guard.ts';
import { type HookAlerts, noAlerts } from '../../delivery/notices.ts';
import { creation } from '../../http/body.ts';
import { ask, list, one, type Route, remove } from '../../http/route.ts';
import type { Log } from '../../log.ts';
import type { ProblemCode } from '../../problems.ts';
import { deliveryFields } from '../deliveries/deliveries.ts';
import { getHook, listHooks, mustBeAllowed, restore, subscribe, test, unsubscribe } from './actions.ts';
import { hookFields, hookFilters, hookInputFields, ownerParameter, subscribedSchema } from './schema.ts';

/** What an account may have at the most: live hooks, and what is owed to them; undefined where there is no limit. */
export type Ceilings = { readonly hooks: number | undefined; readonly owed: number | undefined };

export type HookPorts = {
  guard: SsrfGuard;
  log: Log;
  baseUrl: () => string;
  notices?: HookAlerts;
  ceilings?: Ceilings;
};

const NO_CEILINGS: Ceilings = { hooks: undefined, owed: undefined };

export function hookRoutes(ports: HookPorts): readonly Route[] {
  const { guard, log, baseUrl, notices = noAlerts, ceilings = NO_CEILINGS } = ports;
  const input = creation(hookInputFields);
  const full: ProblemCode[] = ceilings.hooks === undefined ? [] : ['too_many_hooks'];
  const owed: ProblemCode[] = ceilings.owed === undefined ? [] : ['too_much_owed'];
  return [
    list({
      path: '/hooks',
      says: 'Your hooks, the ended ones too.',
      permission: 'hooks:read',
      parameters: { ...hookFilters, ...ownerParameter },
      fields: hookFields,
      call: listHooks,
    }),
    {
      method: 'POST',
      path: '/hooks',
      says: 'Subscribes a target to a kind.',
      permission: 'hooks:write',
      parameters: {},
      body: input.schema,
      status: 201,
      answer: subscribedSchema,
      records: [],
      conditional: false,
      problems: ['target_taken', ...full],
      mode: 'write',
      // Where hooks are counted, two at once must not both be the last.
      holding: ceilings.hooks === undefined ? 'beside' : 'alone',
      prepare: (caller, { body }) =>
        mustBeAllowed(guard, caller, input.read(body), (explanation) =>
          log.warn({ event: 'target.forbidden', account_id: caller.accountId, user_id: caller.userId, explanation }),
        ),
      async run(write, caller, { body }) {
        const id = await subscribe(write, caller, input.read(body), ceilings.hooks);
        return { body: { id: String(id) }, created: `/hooks/${id}` };
      },
    },
    one({
      path: '/hooks/{hook_id}',
      says: 'One hook; an ended one for 30 days.',
      permission: 'hooks:read',
      fields: hookFields,
      call: (view, caller, ids) => getHook(view, caller, ids.hook_id),
    }),
    remove({
      path: '/hooks/{hook_id}',
      says: 'Unsubscribes. After the answer no new attempt begins.',
      permission: 'hooks:write',
      records: [],
      call: (write, caller, ids) => unsubscribe(write, caller, ids.hook_id, notices),
    }),
    ask({
      path: '/hooks/{hook_id}/restore',
      says: 'Makes an ended hook live again and owes it what it missed.',
      permission: 'hooks:write',
      status: 200,
      fields: hookFields,
      problems: ['target_taken', ...full, ...owed],
      call: (write, caller, ids) => restore(write, caller, ids.hook_id, ceilings.hooks),
    }),
    ask({
      path: '/hooks/{hook_id}/test',
      says: 'Sends one notification of the hook itself, at once, also during a wait.',
      permission: 'hooks:write',
      status: 202,
      fields: deliveryFields,
      problems: ['hook_ended', ...owed],
      call: (write, caller, ids) => test(write, caller, ids.hook_id, baseUrl()),
    }),
  ];
}

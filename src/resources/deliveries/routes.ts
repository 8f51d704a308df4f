import { ask, list, one, type Route } from '../../http/route.ts';
import { getDelivery, listDeliveries, redeliver } from './actions.ts';
import { deliveryDetailFields, deliveryFields, deliveryParameters } from './schema.ts';

/** X3. */
export function deliveryRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    list({
      path: '/deliveries',
      says: 'What was and is owed to your hooks, for 30 days.',
      permission: 'hooks:read',
      parameters: deliveryParameters,
      fields: deliveryFields,
      call: (view, caller, given, paging) => listDeliveries(view, caller, given, paging, baseUrl()),
    }),
    one({
      path: '/deliveries/{delivery_id}',
      says: 'One delivery with its attempts.',
      permission: 'hooks:read',
      fields: deliveryDetailFields,
      call: (view, caller, ids) => getDelivery(view, caller, ids.delivery_id, baseUrl()),
    }),
    ask({
      path: '/deliveries/{delivery_id}/redeliver',
      says: 'Sends a delivery again, at once, under the same Webhook-Id; counts no failure.',
      permission: 'hooks:write',
      status: 202,
      fields: deliveryFields,
      problems: ['hook_ended'],
      call: (write, caller, ids) => redeliver(write, caller, ids.delivery_id, baseUrl()),
    }),
  ];
}

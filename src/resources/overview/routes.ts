import { one, type Route } from '../../http/route.ts';
import { getOverview } from './actions.ts';
import { overviewFields } from './schema.ts';

/** Of the console alone. */
export const overviewRoutes: readonly Route[] = [
  one({
    path: '/overview',
    says: 'How deliveries go at this moment: for admins of the account, for others of their own hooks.',
    permission: 'hooks:read',
    fields: overviewFields,
    call: (view, caller) => getOverview(view, caller),
  }),
];

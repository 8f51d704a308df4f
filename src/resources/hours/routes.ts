import { list, type Route } from '../../http/route.ts';
import { listHours } from './actions.ts';
import { hourFields, hourParameters } from './schema.ts';

/** Of the console alone. */
export const hourRoutes: readonly Route[] = [
  list({
    path: '/hours',
    says: 'The last 24 hours of your hooks, hour by hour.',
    permission: 'hooks:read',
    parameters: hourParameters,
    fields: hourFields,
    call: listHours,
  }),
];

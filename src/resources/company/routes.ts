import { one, type Route } from '../../http/route.ts';
import { getCompany } from './actions.ts';
import { companyFields } from './schema.ts';

export const companyRoutes: readonly Route[] = [
  one({
    path: '/company',
    says: 'The account.',
    permission: 'company:read',
    fields: companyFields,
    call: (view) => getCompany(view),
  }),
];

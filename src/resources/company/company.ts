import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId } from '../../http/fields/reference-fields.ts';
import { readOnlyText } from '../../http/fields/scalar-fields.ts';
import { defineGetRoute } from '../../http/routes/define-routes.ts';
import type { Route } from '../../http/routes/route.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** Fields of the account (C35). */
const companyFields = {
  company_id: ownRecordId('Identifier of the company.'),
  company_name: readOnlyText('Name of the company.'),
  domain: readOnlyText('Host name of the account, as in the header domain.'),
  address1: readOnlyText('Address, first line.'),
  address2: readOnlyText('Address, second line.'),
  city: readOnlyText('City.'),
  state: readOnlyText('State or region.'),
  postcode: readOnlyText('Postcode.'),
  country: readOnlyText('Country.'),
  currency: readOnlyText('Currency.'),
  phone: readOnlyText('Telephone.'),
  date_created: readOnlyTimestamp('When the account was created, UTC.'),
};

/** Returns the account of the caller. */
async function getCompany(view: AccountView): Promise<StoredRecordOf<typeof companyFields>> {
  const row = await view.selectFrom('accounts').selectAll('accounts').executeTakeFirstOrThrow();
  return { ...row, company_id: row.account_id };
}

export const companyRoutes: readonly Route[] = [
  defineGetRoute({
    path: '/company',
    description: 'Returns the account.',
    permission: 'company:read',
    fields: companyFields,
    handle: (view) => getCompany(view),
  }),
];

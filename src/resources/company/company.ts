import type { Shown } from '../../http/field.ts';
import { key, shownMoment, shownText } from '../../http/fields.ts';
import { one, type Route } from '../../http/route.ts';
import type { AccountView } from '../../store/account.ts';

/** The account (C35). */
export const companyFields = {
  company_id: key('Identifier of the company.'),
  company_name: shownText('Name of the company.'),
  domain: shownText("The account's host name, as in the header domain."),
  address1: shownText('Address, first line.'),
  address2: shownText('Address, second line.'),
  city: shownText('City.'),
  state: shownText('State or region.'),
  postcode: shownText('Postcode.'),
  country: shownText('Country.'),
  currency: shownText('Currency.'),
  phone: shownText('Telephone.'),
  date_created: shownMoment('When the account was created, UTC.'),
};

/** The caller's own account. */
export async function getCompany(view: AccountView): Promise<Shown<typeof companyFields>> {
  const row = await view.selectFrom('accounts').selectAll('accounts').executeTakeFirstOrThrow();
  return { ...row, company_id: row.account_id };
}

export const companyRoutes: readonly Route[] = [
  one({
    path: '/company',
    says: 'The account.',
    permission: 'company:read',
    fields: companyFields,
    call: (view) => getCompany(view),
  }),
];

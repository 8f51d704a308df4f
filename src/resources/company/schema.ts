import { key, shownMoment, shownText } from '../../http/fields.ts';

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

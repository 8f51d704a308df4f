import type { Shown } from '../../http/field.ts';
import type { AccountView } from '../../store/account.ts';
import type { companyFields } from './schema.ts';

/** The caller's own account. */
export async function getCompany(view: AccountView): Promise<Shown<typeof companyFields>> {
  const row = await view.selectFrom('accounts').selectAll('accounts').executeTakeFirstOrThrow();
  return { ...row, company_id: row.account_id };
}

import type { Queries } from '../store/store.ts';
import type { AuditAction } from './actions.ts';

/** What is looked for; the rows of all accounts where none is named. */
export type Wanted = {
  readonly accountId: number | undefined;
  readonly action: AuditAction | undefined;
  /** Not older than this, milliseconds since the epoch. */
  readonly since: number;
};

/** Rows that are about every account belong to each. */
const OF_ALL: readonly AuditAction[] = ['database.restored'];

/** The rows of the audit log, oldest first. */
export function listAudit(read: Queries, { accountId, action, since }: Wanted) {
  let query = read
    .selectFrom('audit')
    .leftJoin('accounts', 'accounts.account_id', 'audit.account_id')
    .leftJoin('users', 'users.user_id', 'audit.user_id')
    .selectAll('audit')
    .select(['accounts.domain', 'users.email'])
    .where('audit.happened_at', '>=', since);
  if (action !== undefined) query = query.where('audit.action', '=', action);
  if (accountId !== undefined) {
    query = query.where(({ or, eb, and }) =>
      or([
        eb('audit.account_id', '=', accountId),
        and([eb('audit.account_id', '=', 0), eb('audit.action', 'in', OF_ALL)]),
      ]),
    );
  }
  return query.orderBy('audit.audit_id').execute();
}

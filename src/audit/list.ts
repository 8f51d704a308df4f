import type { Queries } from '../store/store.ts';
import type { AuditAction } from './actions.ts';

/** Filters of the audit log; undefined for no filter. */
export type Wanted = {
  readonly accountId: number | undefined;
  readonly action: AuditAction | undefined;
  /** Oldest time to include, milliseconds since the epoch. */
  readonly since: number;
};

/** Actions that concern all accounts, and so are listed for each. */
const GLOBAL_ACTIONS: readonly AuditAction[] = ['database.restored'];

/** Rows of the audit log, oldest first. */
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
        and([eb('audit.account_id', '=', 0), eb('audit.action', 'in', GLOBAL_ACTIONS)]),
      ]),
    );
  }
  return query.orderBy('audit.audit_id').execute();
}

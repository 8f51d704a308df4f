import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../store/store.ts';

/** Finds a user by e-mail address, compared without case, with the passphrase hash (null if none was set). */
export async function findPerson(
  read: Queries,
  accountId: number,
  email: string,
): Promise<{ user_id: number; email: string; passphrase_hash: string | null } | undefined> {
  return read
    .selectFrom('users')
    .leftJoin('passphrases', 'passphrases.user_id', 'users.user_id')
    .select(['users.user_id', 'users.email', 'passphrases.passphrase_hash'])
    .where('users.account_id', '=', accountId)
    .where('users.date_deleted', 'is', null)
    .where(sql<SqlBool>`fold(users.email) = fold(${email})`)
    .executeTakeFirst();
}

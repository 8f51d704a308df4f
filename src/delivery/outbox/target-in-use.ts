import type { Queries } from '../../store/store.ts';

/** Whether a live hook of any account has the target with this hash (C12). */
export async function isTargetTaken(read: Queries, targetHash: string): Promise<boolean> {
  const found = await read
    .selectFrom('targets')
    .select('hook_id')
    .where('target_hash', '=', targetHash)
    .executeTakeFirst();
  return found !== undefined;
}

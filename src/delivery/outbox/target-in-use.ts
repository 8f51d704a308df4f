import type { Queries } from '../../store/store.ts';

/** Whether a live hook has a target, by its hash: anywhere on the service, as C12 has it. */
export async function isTargetTaken(read: Queries, targetHash: string): Promise<boolean> {
  const found = await read
    .selectFrom('targets')
    .select('hook_id')
    .where('target_hash', '=', targetHash)
    .executeTakeFirst();
  return found !== undefined;
}

import type { Store } from '../../src/store/store.ts';

/**
 * Sets the retention clock as if services had run until this time: old rows are dropped by that clock (decision
 * 34).
 */
export async function trustUntil(store: Pick<Store, 'write'>, at: number): Promise<void> {
  const known = { trusted_at: at, observed_at: at, doubted_ms: 0, doubted_since: 0, seen_since_ms: 0 };
  await store.write(({ queries }) =>
    queries
      .insertInto('retention_clock')
      .values({ clock_id: 1, ...known })
      .onConflict((conflict) => conflict.column('clock_id').doUpdateSet(known))
      .execute(),
  );
}

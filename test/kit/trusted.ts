import type { Store } from '../../src/store/store.ts';

/** As if services had run all the time up to a moment: old rows are dropped by that (decision 34). */
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

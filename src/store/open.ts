import type { StoreOptions } from './database-url.ts';
import type { Store } from './store.ts';

/** Opens and migrates the database. Throws `StoreError` with one line for the operator. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database } = options;
  // Dynamic imports load only the driver that is needed.
  switch (database.scheme) {
    case 'sqlite':
      return (await import('./sqlite/open.ts')).openStore({ ...options, database });
    case 'postgres':
      return (await import('./postgres/open.ts')).openStore({ ...options, database });
  }
}

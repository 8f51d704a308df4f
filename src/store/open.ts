import type { OpenOptions } from './database-url.ts';
import type { Store } from './store.ts';

/** Opens, and brings up to date, the database. Throws `StoreFault` with one line for the operator. */
export async function openStore(options: OpenOptions): Promise<Store> {
  const { database } = options;
  // Only what is needed is loaded.
  switch (database.scheme) {
    case 'sqlite':
      return (await import('./sqlite/open.ts')).openStore({ ...options, database });
    case 'postgres':
      return (await import('./postgres/open.ts')).openStore({ ...options, database });
  }
}

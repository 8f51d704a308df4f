import type { OpenOptions } from './location.ts';
import { type Store, StoreFault } from './store.ts';
export async function openStore(_: OpenOptions): Promise<Store> {
  throw new StoreFault('not yet');
}

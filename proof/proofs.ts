import { khal } from './khal.ts';
import type { Proof } from './proof.ts';

/** Every proof, in the order of its row. */
export const proofs: readonly Proof[] = [khal];

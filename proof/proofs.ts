import { khal } from './khal.ts';
import { kills } from './kills.ts';
import { power } from './power.ts';
import type { Proof } from './proof.ts';
import { stops } from './stops.ts';

/** Every proof, in the order of its row. */
export const proofs: readonly Proof[] = [kills, power, stops, khal];

import { backups } from './backups.ts';
import { fuzz } from './fuzz.ts';
import { khal } from './khal.ts';
import { kills } from './kills.ts';
import { nodes } from './nodes.ts';
import { overload } from './overload.ts';
import { power } from './power.ts';
import type { Proof } from './proof.ts';
import { simulation } from './simulation.ts';
import { stops } from './stops.ts';

/** Every proof, in the order of its row. */
export const proofs: readonly Proof[] = [kills, power, simulation, nodes, fuzz, overload, stops, backups, khal];

import { backups } from './backups.ts';
import { canary } from './canary.ts';
import { deletion } from './deletion.ts';
import { fuzz } from './fuzz.ts';
import { hostile } from './hostile.ts';
import { injection } from './injection.ts';
import { khal } from './khal.ts';
import { kills } from './kills.ts';
import { model } from './model.ts';
import { mutationTable } from './mutation-table.ts';
import { nodes } from './nodes.ts';
import { oneCaller } from './one-caller.ts';
import { overload } from './overload.ts';
import { plantedBugs } from './planted.ts';
import { power } from './power.ts';
import type { Proof } from './proof.ts';
import { removal } from './removal.ts';
import { simulation } from './simulation.ts';
import { ssrf } from './ssrf.ts';
import { stops } from './stops.ts';
import { tenants } from './tenants.ts';

/** Every proof, in the order of its row. */
export const proofs: readonly Proof[] = [
  kills,
  power,
  injection,
  simulation,
  plantedBugs,
  removal,
  deletion,
  nodes,
  ssrf,
  hostile,
  tenants,
  fuzz,
  overload,
  stops,
  backups,
  canary,
  oneCaller,
  mutationTable,
  model,
  khal,
];

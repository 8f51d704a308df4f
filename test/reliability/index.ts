import { nodes } from './cluster/nodes.ts';
import { backups } from './crash/backups.ts';
import { kills } from './crash/kill.ts';
import { power } from './crash/power-loss.ts';
import { removal } from './crash/retry-limit.ts';
import { stops } from './crash/sigterm.ts';
import { injection } from './crash/syscall-faults.ts';
import { fuzz } from './fuzz/fuzz.ts';
import { hostile } from './hostile-receivers/hostile-receivers.ts';
import { khal } from './interop.ts';
import { model } from './model/model-test.ts';
import { oneCaller } from './one-caller/one-caller.ts';
import { overload } from './overload/overload.ts';
import { deletion } from './races/delete-during-delivery.ts';
import type { ReliabilityTest } from './reliability-test.ts';
import { canary } from './secret-leaks/secret-leaks.ts';
import { mutationTable, seededBugTest } from './seeded-bugs.ts';
import { simulation } from './simulation/simulation.ts';
import { ssrf } from './ssrf/ssrf.ts';
import { tenants } from './tenant-isolation/tenant-isolation.ts';

/** Every reliability test, in the order of docs/reliability.md. */
export const proofs: readonly ReliabilityTest[] = [
  kills,
  power,
  injection,
  simulation,
  seededBugTest,
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

import { nodes } from './cluster/nodes.ts';
import { backups } from './crash/backups.ts';
import { kills } from './crash/kill.ts';
import { powerLoss } from './crash/power-loss.ts';
import { hookRemoval } from './crash/retry-limit.ts';
import { stops } from './crash/sigterm.ts';
import { syscallFaults } from './crash/syscall-faults.ts';
import { teamHooks } from './crash/team-hooks.ts';
import { fuzz } from './fuzz/fuzz.ts';
import { hostileReceivers } from './hostile-receivers/hostile-receivers.ts';
import { khal } from './interop.ts';
import { model } from './model/model-test.ts';
import { oneCaller } from './one-caller/one-caller.ts';
import { overload } from './overload/overload.ts';
import { hookDeletion } from './races/delete-during-delivery.ts';
import type { ReliabilityTest } from './reliability-test.ts';
import { secretLeaks } from './secret-leaks/secret-leaks.ts';
import { mutationTest, seededBugTest } from './seeded-bugs.ts';
import { simulation } from './simulation/simulation.ts';
import { ssrf } from './ssrf/ssrf.ts';
import { tenants } from './tenant-isolation/tenant-isolation.ts';

/** Every reliability test, in the order of docs/reliability.md. */
export const reliabilityTests: readonly ReliabilityTest[] = [
  kills,
  powerLoss,
  syscallFaults,
  simulation,
  seededBugTest,
  hookRemoval,
  hookDeletion,
  nodes,
  ssrf,
  hostileReceivers,
  tenants,
  fuzz,
  overload,
  stops,
  backups,
  secretLeaks,
  oneCaller,
  mutationTest,
  teamHooks,
  model,
  khal,
];

import { systemClock } from '../src/clock.ts';
import type { Attempt } from '../src/delivery/attempt.ts';
import type { Claims } from '../src/delivery/claims.ts';
import { Engine } from '../src/delivery/engine.ts';
import { Node } from '../src/delivery/node.ts';
import { noNotices } from '../src/delivery/notices.ts';
import { createLog } from '../src/log.ts';
import { systemChance } from '../src/secrets.ts';
import { openStore } from '../src/store/open.ts';
import { openingOf } from '../test/harness/database.ts';
import { moment } from './measured.ts';

// One node of bench/scale, a process of its own: the real engine, lanes and leases on a real store. Only the attempt
// is pretended: no HTTP, a 200 at once or after a delay.

/** What a range of hooks takes to answer, milliseconds; others answer at once. */
export type Delay = { readonly from: number; readonly to: number; readonly ms: number };

/** One attempt that began: hook, record, when (milliseconds since the epoch). */
export type Begun = readonly [hookId: number, recordId: number, at: number];

export type Report = {
  readonly claimed: number;
  /** How often lanes were asked for, and how many were asked for but another node's. */
  readonly asks: number;
  readonly missed: number;
  readonly settled: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly begun: readonly Begun[];
};

export type Demand =
  | { readonly is: 'delay'; readonly delays: readonly Delay[]; readonly otherwiseMs: number }
  | { readonly is: 'report' }
  | { readonly is: 'stop' };

let delays: readonly Delay[] = [];
let otherwiseMs = 0;
let begun: Begun[] = [];
let counts = { claimed: 0, asks: 0, missed: 0, settled: 0, firstAt: 0, lastAt: 0 };

const hookOf = (target: string) => Number(target.slice(target.lastIndexOf('#') + 1));
const recordOf = (body: string) => Number(/(\d+)"\}$/.exec(body)?.[1]);

const attempt: Attempt = async ({ target, body, onDialled, signal }) => {
  const at = moment();
  const hookId = hookOf(target);
  begun.push([hookId, recordOf(body), at]);
  if (counts.firstAt === 0) counts.firstAt = at;
  onDialled?.();
  const ms = delays.find(({ from, to }) => hookId >= from && hookId <= to)?.ms ?? otherwiseMs;
  if (ms > 0) await new Promise<void>((resolve) => systemClock.after(ms, resolve));
  if (signal.aborted) return { kind: 'ours', fault: 'stopped', ms };
  counts.settled += 1;
  counts.lastAt = moment();
  return { kind: 'answered', status: 200, ms };
};

/** A node whose claims are counted; the hook's id rides behind its target, where the attempt finds it. */
function counted(node: Node): Claims {
  return {
    pollMs: node.pollMs,
    shares: node.shares,
    start: (listeners) => node.start(listeners),
    attend: () => node.attend(),
    mayBegin: () => node.mayBegin(),
    async takeUp(hookIds) {
      const rows = await node.takeUp(hookIds);
      counts.asks += 1;
      counts.claimed += rows.length;
      counts.missed += hookIds.length - rows.length;
      return rows.map((row) => ({ ...row, target: `${row.target}#${row.hookId}` }));
    },
    letGo: (lanes) => node.letGo(lanes),
    heard: (hookIds) => node.heard(hookIds),
    standDown: () => node.standDown(),
    stop: () => node.stop(),
    findWork: (after) => node.findWork(after),
  };
}

const [, , database = ''] = process.argv;
const log = createLog('error');
const store = await openStore({ ...openingOf(database), log });
if (store.sessions === undefined) throw new Error('several nodes need a PostgreSQL');
const engine = new Engine({
  store,
  notices: noNotices,
  claims: counted(new Node({ store, sessions: store.sessions, beats: systemClock, log, role: 'delivery' })),
  clock: systemClock,
  chance: systemChance,
  attempt,
  log: createLog('silent'),
  baseUrl: () => 'http://127.0.0.1:8080',
  waitsMs: [60_000, 7_200_000],
  mostToOneHost: 1_000,
  attemptTimeoutMs: 15_000,
  onAttempt: () => undefined,
});
await engine.start();

process.on('message', async (demand: Demand) => {
  if (demand.is === 'delay') {
    ({ delays, otherwiseMs } = demand);
    process.send?.({ is: 'done' });
  } else if (demand.is === 'report') {
    const report: Report = { ...counts, begun };
    begun = [];
    counts = { claimed: 0, asks: 0, missed: 0, settled: 0, firstAt: 0, lastAt: 0 };
    process.send?.({ is: 'report', report });
  } else {
    await engine.stop(0);
    await store.close();
    process.exit(0);
  }
});
process.send?.({ is: 'ready' });

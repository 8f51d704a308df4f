import { sql } from 'kysely';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from './clock.ts';
import type { Store } from './store/store.ts';

export type Metrics = ReturnType<typeof createMetrics>;

const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

/** Creates all metrics in a registry of their own, so that several services can run in one process. */
export function createMetrics(deps: {
  store: Store;
  clock: Clock;
  /** Returns the number of attempts in flight. */
  countInFlightAttempts: () => number;
  /** Returns the number of hook queues that this node leases. */
  countLeasedQueues: () => number;
  /** Returns when the oldest pending delivery of a live and enabled hook was created. */
  findOldestPending: () => Promise<number | undefined>;
  /** Whether hook alerts are sent by mail. */
  isMailConfigured: boolean;
}) {
  const { store, clock } = deps;
  const registry = new Registry();
  const registers = [registry];
  const requestDurations = new Histogram({
    name: 'carillon_request_seconds',
    help: 'Duration of requests, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  function observeRequest(method: string, route: string, status: number, seconds: number): void {
    requestDurations.labels(method, route, String(status)).observe(seconds);
  }
  const attemptDurations = new Histogram({
    name: 'carillon_attempt_seconds',
    help: 'Duration of attempts, by outcome: a status or a failure code.',
    labelNames: ['outcome'],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const deliveryCounter = new Counter({
    name: 'carillon_deliveries_total',
    help: 'Attempts, by the result for their delivery.',
    labelNames: ['result'],
    registers,
  });
  const deliveryLateness = new Histogram({
    name: 'carillon_delivery_lateness_seconds',
    help: 'Time from when a delivery was due to its attempt.',
    buckets: [...DURATION_BUCKETS_S, 60, 600],
    registers,
  });
  const endedHookCounter = new Counter({
    name: 'carillon_hooks_ended_total',
    help: 'Hooks that ended, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const mailCounter = new Counter({
    name: 'carillon_mails_total',
    help: 'Mails to owners of hooks, by result: sent, retry or given_up.',
    labelNames: ['result'],
    registers,
  });
  const shedRequestCounter = new Counter({
    name: 'carillon_requests_shed_total',
    help: 'Requests rejected with 503 before they were processed, by exceeded limit: requests, visitors, request_bytes or response_bytes.',
    labelNames: ['reason'],
    registers,
  });
  const closedConnectionCounter = new Counter({
    name: 'carillon_connections_closed_total',
    help: 'Connections closed by the service, by exceeded limit: head_timeout, body_timeout, drop_timeout, unread, pipelined or too_many.',
    labelNames: ['reason'],
    registers,
  });
  const rateLimitedCounter = new Counter({
    name: 'carillon_requests_rate_limited_total',
    help: 'Calls rejected by a rate limit, by limit.',
    labelNames: ['limit'],
    registers,
  });
  const commitGroupSizes = new Histogram({
    name: 'carillon_group_commit_writes',
    help: 'Writes per group commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  });
  const commitDurations = new Histogram({
    name: 'carillon_commit_seconds',
    help: 'Duration of a group commit, including fsync.',
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const commitEventCounter = new Counter({
    name: 'carillon_commit_events_total',
    help: 'Commits that this node was notified of, by origin: this process or another node.',
    labelNames: ['from'],
    registers,
  });
  store.onCommitted((commitEvents) => {
    commitEventCounter.inc({ from: commitEvents.origin === 'here' ? 'here' : 'elsewhere' });
    // Each node counts only the hooks that it ended itself, so that the sum over all nodes is right.
    if (commitEvents.origin !== 'here') return;
    for (const reason of commitEvents.endedHooks.values()) endedHookCounter.inc({ reason });
  });
  store.onGroupCommit((writeCount, seconds) => {
    commitGroupSizes.observe(writeCount);
    commitDurations.observe(seconds);
  });
  new Gauge({
    name: 'carillon_oldest_pending_seconds',
    help: 'Age of the oldest pending delivery of a live and enabled hook; 0 when there is none.',
    registers,
    async collect() {
      const oldestAt = await deps.findOldestPending();
      this.set(oldestAt === undefined ? 0 : Math.max(0, clock.now() - oldestAt) / 1_000);
    },
  });
  new Gauge({
    name: 'carillon_hooks_failing',
    help: 'Live hooks between a failure and the next 200.',
    registers,
    async collect() {
      const { failing } = await store.read
        .selectFrom('hooks')
        .where('date_ended', 'is', null)
        .where('failures', '>', 0)
        .select(sql<number>`count(*)`.as('failing'))
        .executeTakeFirstOrThrow();
      this.set(failing);
    },
  });
  new Gauge({
    name: 'carillon_hook_alerts_pending',
    help: 'Hook alerts that are not mailed yet; 0 without a mail server.',
    registers,
    async collect() {
      if (!deps.isMailConfigured) return this.set(0);
      const { pending } = await store.read
        .selectFrom('hook_alerts')
        .select(({ fn }) => fn.countAll<number>().as('pending'))
        .executeTakeFirstOrThrow();
      return this.set(pending);
    },
  });
  new Gauge({
    name: 'carillon_oldest_hook_alert_seconds',
    help: 'Age of the oldest hook alert that is not mailed yet; 0 when there is none.',
    registers,
    async collect() {
      if (!deps.isMailConfigured) return this.set(0);
      const oldestAlert = await store.read
        .selectFrom('hook_alerts')
        .select('noted_at')
        .orderBy('hook_alert_id')
        .limit(1)
        .executeTakeFirst();
      return this.set(oldestAlert === undefined ? 0 : Math.max(0, clock.now() - oldestAlert.noted_at) / 1_000);
    },
  });
  new Gauge({
    name: 'carillon_attempts_in_flight',
    help: 'Attempts in flight.',
    registers,
    collect() {
      this.set(deps.countInFlightAttempts());
    },
  });
  new Gauge({
    name: 'carillon_hook_queues_leased',
    help: 'Hook queues that this node leases.',
    registers,
    collect() {
      this.set(deps.countLeasedQueues());
    },
  });
  new Gauge({
    name: 'carillon_nodes',
    help: 'Live nodes that share the database; 1 for SQLite.',
    registers,
    async collect() {
      if (store.clusterSession === undefined) return this.set(1);
      const { nodes } = await store.read
        .selectFrom('nodes')
        .select(sql<number>`count(*)`.as('nodes'))
        .executeTakeFirstOrThrow();
      return this.set(nodes);
    },
  });
  return {
    registry,
    observeRequest,
    attemptDurations,
    deliveryCounter,
    deliveryLateness,
    mailCounter,
    shedRequestCounter,
    closedConnectionCounter,
    rateLimitedCounter,
  };
}

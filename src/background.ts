import type { Clock } from './clock.ts';
import type { Config } from './config/load.ts';
import { ClusterNode } from './delivery/cluster/cluster-node.ts';
import { createSingleNodeLeases } from './delivery/cluster/leases.ts';
import { Dispatcher } from './delivery/dispatcher/dispatcher.ts';
import { applyRetention, RETENTION_MS, startRetention } from './delivery/maintenance/retention.ts';
import type { EnqueueHookAlerts } from './delivery/outbox/end-hooks.ts';
import type { SendAttempt } from './delivery/transport/attempt.ts';
import { deleteExpiredResponses } from './http/routes/idempotency.ts';
import type { Log } from './log.ts';
import { Mailer, type MailerDeps } from './mail/mailer.ts';
import type { Metrics } from './metrics.ts';
import { deleteExpiredInvitations } from './resources/invitations/invitations.ts';
import { deleteExpiredSessions } from './resources/sessions/sessions.ts';
import type { Random } from './secrets.ts';
import type { Store } from './store/store.ts';

/** Maximum time for which a shutdown waits for mails that are being sent. */
const MAIL_STOP_TIMEOUT_MS = 1_000;
/** Maximum time for which a shutdown waits for attempts in flight, after the mails. */
const ATTEMPT_STOP_TIMEOUT_MS = 8_000;

type BackgroundDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly sendAttempt: SendAttempt;
  readonly enqueueAlerts: EnqueueHookAlerts;
  readonly getMetrics: () => Metrics;
  readonly baseUrl: () => string;
};

/** The background work of a node: deliveries, mails and retention. */
type BackgroundWork = {
  /** Number of attempts in flight. */
  readonly countInFlightAttempts: () => number;
  /** Number of hook queues that this node leases. */
  readonly countLeasedQueues: () => number;
  /** Starts the dispatcher, which resumes pending deliveries (C20). */
  start(): Promise<void>;
  /** Starts the mailer and the hourly retention job. Called last, when the start of the service can no longer fail. */
  startMailAndRetention(): void;
  /**
   * Stops all background work.
   *
   * @param graceMs how long attempts in flight may take; default: ATTEMPT_STOP_TIMEOUT_MS
   */
  stop(graceMs?: number): Promise<void>;
};

export async function createBackgroundWork(config: Config, deps: BackgroundDeps): Promise<BackgroundWork> {
  const { store, realClock, clock, log, baseUrl, getMetrics } = deps;
  const { role } = config;
  // Background writes do not queue behind the writes of API requests.
  const backgroundStore: Store = { ...store, write: store.writeInBackground };
  const leaseManager =
    store.clusterSession === undefined
      ? createSingleNodeLeases(backgroundStore)
      : new ClusterNode({ store: backgroundStore, clusterSession: store.clusterSession, realClock, log, role });
  const dispatcher = new Dispatcher({
    ...deps,
    store: backgroundStore,
    leaseManager,
    retryDelaysMs: config.retryWaits,
    attemptTimeoutMs: config.attemptTimeout,
    maxAttemptsPerHost: config.maxAttemptsPerHost,
    onAttemptFinished({ outcome, decision, durationMs, lateMs }) {
      getMetrics().attemptDurations.observe({ outcome }, durationMs / 1_000);
      getMetrics().deliveryCounter.inc({ result: decision });
      getMetrics().deliveryLateness.observe(lateMs / 1_000);
    },
  });
  const mailer = await createMailer(config, {
    store: backgroundStore,
    leaseOwner: leaseManager,
    clock,
    log,
    baseUrl,
    endedHookRetentionMs: RETENTION_MS.endedHooks,
    onMailDecided: (result) => getMetrics().mailCounter.inc({ result }),
  });
  let retentionJob: ReturnType<typeof startRetention> | undefined;
  const isApiOnly = role === 'api';
  return {
    countInFlightAttempts: () => dispatcher.inFlightCount,
    countLeasedQueues: () => dispatcher.leasedQueueCount,
    // An API-only node joins the cluster, but delivers nothing.
    start: () => (isApiOnly ? leaseManager.joinAsApiOnly() : dispatcher.start()),
    startMailAndRetention() {
      if (!isApiOnly)
        retentionJob = startRetention({ store, clock, log }, [
          applyRetention,
          deleteExpiredResponses,
          deleteExpiredSessions,
          deleteExpiredInvitations,
        ]);
      mailer?.start();
    },
    async stop(graceMs = ATTEMPT_STOP_TIMEOUT_MS) {
      const retentionStop = retentionJob?.stop();
      // Keep the leases of this node until the results of its mails are stored: otherwise another node would send the
      // mails again.
      await mailer?.stop(MAIL_STOP_TIMEOUT_MS);
      await (isApiOnly ? leaseManager.stop() : dispatcher.stop(graceMs));
      await retentionStop;
    },
  };
}

/** Creates the mailer. Returns undefined without a mail server and on an API-only node. */
async function createMailer(
  { smtpUrl, mailFrom, role }: Config,
  deps: Omit<MailerDeps, 'mailTransport'>,
): Promise<Mailer | undefined> {
  if (smtpUrl === undefined || mailFrom === undefined || role === 'api') return undefined;
  // Loaded lazily, so that a start without mail does not load nodemailer.
  const { createMailTransport } = await import('./mail/smtp.ts');
  return new Mailer({ ...deps, mailTransport: createMailTransport(smtpUrl, mailFrom) });
}

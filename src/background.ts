import type { Clock } from './clock.ts';
import type { Config } from './config/load.ts';
import { ClusterNode } from './delivery/cluster/cluster-node.ts';
import { singleNodeLeases } from './delivery/cluster/leases.ts';
import { Dispatcher } from './delivery/dispatcher/dispatcher.ts';
import { applyRetention, RETENTION_MS, startRetention } from './delivery/maintenance/retention.ts';
import type { HookAlerts } from './delivery/outbox/end-hooks.ts';
import type { Attempt } from './delivery/transport/attempt.ts';
import { dropIdempotency } from './http/routes/idempotency.ts';
import type { Log } from './log.ts';
import { Mailer, type MailerPorts } from './mail/mailer.ts';
import type { Metrics } from './metrics.ts';
import { dropInvitations } from './resources/invitations/invitations.ts';
import { dropSessions } from './resources/sessions/sessions.ts';
import type { Random } from './secrets.ts';
import type { Store } from './store/store.ts';

/** How long a shutdown waits for mails that are being sent. */
const STOP_MAILS_MS = 1_000;
/** How long a shutdown waits for attempts in flight, after the mails. */
const STOP_ATTEMPTS_MS = 8_000;

export type BackgroundPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly attempt: Attempt;
  readonly hookAlerts: HookAlerts;
  readonly metrics: () => Metrics;
  readonly baseUrl: () => string;
};

/** The background work of a node: deliveries, mails and retention. */
export type BackgroundWork = {
  /** Number of attempts in flight. */
  readonly inFlight: () => number;
  /** Number of hook queues that this node leases. */
  readonly queuesHeld: () => number;
  /** Starts the dispatcher, which resumes pending deliveries (C20). */
  start(): Promise<void>;
  /** Starts the mailer and the hourly retention. Called last, when the start of the service can no longer fail. */
  startRetention(): void;
  /**
   * Stops all background work.
   *
   * @param graceMs how long attempts in flight may take; default: ATTEMPT_STOP_TIMEOUT_MS
   */
  stop(graceMs?: number): Promise<void>;
};

export async function createBackground(config: Config, ports: BackgroundPorts): Promise<BackgroundWork> {
  const { store, realClock, clock, log, baseUrl, metrics } = ports;
  const { role } = config;
  // Background writes do not queue behind the writes of API requests.
  const backgroundStore: Store = { ...store, write: store.writeInBackground };
  const claims =
    store.sessions === undefined
      ? singleNodeLeases(backgroundStore)
      : new ClusterNode({ store: backgroundStore, sessions: store.sessions, realClock, log, role });
  const dispatcher = new Dispatcher({
    ...ports,
    store: backgroundStore,
    claims,
    waitsMs: config.retryWaits,
    attemptTimeoutMs: config.attemptTimeout,
    maxAttemptsPerHost: config.maxAttemptsPerHost,
    onAttempt({ outcome, result, ms, lateMs }) {
      metrics().attempts.observe({ outcome }, ms / 1_000);
      metrics().deliveries.inc({ result });
      metrics().lateness.observe(lateMs / 1_000);
    },
  });
  const mailer = await createMailer(config, {
    store: backgroundStore,
    leaseOwner: claims,
    clock,
    log,
    baseUrl,
    retentionMs: RETENTION_MS.endedHooks,
    onMail: (result) => metrics().mails.inc({ result }),
  });
  let retention: ReturnType<typeof startRetention> | undefined;
  const isApi = role === 'api';
  return {
    inFlight: () => dispatcher.inFlight,
    queuesHeld: () => dispatcher.leasedQueues,
    // An API-only node joins the cluster, but delivers nothing.
    start: () => (isApi ? claims.joinAsApiOnly() : dispatcher.start()),
    startRetention() {
      if (!isApi)
        retention = startRetention({ store, clock, log }, [
          applyRetention,
          dropIdempotency,
          dropSessions,
          dropInvitations,
        ]);
      mailer?.start();
    },
    async stop(graceMs = STOP_ATTEMPTS_MS) {
      retention?.stop();
      // Keep the leases of this node until the results of its mails are stored: otherwise another node would send the
      // mails again.
      await mailer?.stop(STOP_MAILS_MS);
      await (isApi ? claims.stop() : dispatcher.stop(graceMs));
    },
  };
}

/** Creates the mailer. Returns undefined without a mail server and on an API-only node. */
async function createMailer(
  { smtpUrl, mailFrom, role }: Config,
  ports: Omit<MailerPorts, 'post'>,
): Promise<Mailer | undefined> {
  if (smtpUrl === undefined || mailFrom === undefined || role === 'api') return undefined;
  // Loaded lazily, so that a start without mail does not load nodemailer.
  const { createPost } = await import('./mail/smtp.ts');
  return new Mailer({ ...ports, post: createPost(smtpUrl, mailFrom) });
}

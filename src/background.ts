import type { Clock } from './clock.ts';
import type { Config } from './config/load.ts';
import { ClusterNode } from './delivery/cluster/cluster-node.ts';
import { singleNodeLeases } from './delivery/cluster/leases.ts';
import { Dispatcher } from './delivery/dispatcher/dispatcher.ts';
import { applyRetention, RETENTION_MS, startRetention } from './delivery/maintenance/retention.ts';
import type { HookAlerts } from './delivery/outbox/hook-alerts.ts';
import type { Attempt } from './delivery/transport/attempt.ts';
import { dropIdempotency } from './http/routes/idempotency.ts';
import type { Log } from './log.ts';
import { Mailer, type MailerPorts } from './mail/mailer.ts';
import type { Metrics } from './metrics.ts';
import { dropInvitations } from './resources/invitations/invitations.ts';
import { dropSessions } from './resources/sessions/actions.ts';
import type { Random } from './secrets.ts';
import type { Store } from './store/store.ts';

/** How long a stop waits for what is in flight: mails, then attempts. */
const STOP_MAILS_MS = 1_000;
const STOP_ATTEMPTS_MS = 8_000;

export type BackgroundPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly attempt: Attempt;
  readonly notices: HookAlerts;
  readonly metrics: () => Metrics;
  readonly baseUrl: () => string;
};

/** What a node does beside answering callers: it tells hooks, sends mails, and drops what is kept no longer. */
export type BackgroundWork = {
  /** How many attempts are in flight. */
  readonly inFlight: () => number;
  /** How many lanes it has taken up. */
  readonly queuesHeld: () => number;
  /** Goes on with what was pending when the service last stopped (C20). */
  start(): Promise<void>;
  /** Begins to send mails and to drop what is old; once nothing can refuse the start any more. */
  startRetention(): void;
  /** @param graceMs how long what is in flight may take; left out, as long as a stop may last */
  stop(graceMs?: number): Promise<void>;
};

export async function createBackground(config: Config, ports: BackgroundPorts): Promise<BackgroundWork> {
  const { store, realClock, clock, log, baseUrl, metrics } = ports;
  const { role } = config;
  // The engine's writes wait behind no caller's.
  const aside: Store = { ...store, write: store.writeInBackground };
  const claims =
    store.sessions === undefined
      ? singleNodeLeases(aside)
      : new ClusterNode({ store: aside, sessions: store.sessions, realClock, log, role });
  const engine = new Dispatcher({
    ...ports,
    store: aside,
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
    store: aside,
    holder: claims,
    clock,
    log,
    baseUrl,
    keptMs: RETENTION_MS.endedHooks,
    onMail: (result) => metrics().mails.inc({ result }),
  });
  let pruning: ReturnType<typeof startRetention> | undefined;
  const isApi = role === 'api';
  return {
    inFlight: () => engine.inFlight,
    queuesHeld: () => engine.leasedQueues,
    // At a node that only answers callers, nothing is told.
    start: () => (isApi ? claims.joinAsApiOnly() : engine.start()),
    startRetention() {
      if (!isApi)
        pruning = startRetention({ store, clock, log }, [
          applyRetention,
          dropIdempotency,
          dropSessions,
          dropInvitations,
        ]);
      mailer?.start();
    },
    async stop(graceMs = STOP_ATTEMPTS_MS) {
      pruning?.stop();
      // This node is one until its mails are written down: another one would send them, too.
      await mailer?.stop(STOP_MAILS_MS);
      await (isApi ? claims.stop() : engine.stop(graceMs));
    },
  };
}

/** Undefined where no mail server is named, and at a node that only answers callers. */
async function createMailer(
  { smtpUrl, mailFrom, role }: Config,
  ports: Omit<MailerPorts, 'post'>,
): Promise<Mailer | undefined> {
  if (smtpUrl === undefined || mailFrom === undefined || role === 'api') return undefined;
  // Loaded only here: a start without it need not wait for it.
  const { createPost } = await import('./mail/smtp.ts');
  return new Mailer({ ...ports, post: createPost(smtpUrl, mailFrom) });
}

import { PollLoop } from '../async/poll-loop.ts';
import { type Clock, sleep, startDeadline } from '../clock.ts';
import type { LeaseOwner } from '../delivery/cluster/leases.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import { type MailTemplateValues, renderMessage } from './message.ts';
import {
  type ClaimedMail,
  claimMails,
  createMails,
  decideAfterSend,
  deleteMail,
  type MailDecision,
  postponeMail,
  readMailContent,
  type SendOutcome,
} from './queue.ts';
import type { MailTransport } from './smtp.ts';

/** Interval of the poll for due mails. */
const MAIL_POLL_INTERVAL_MS = 10_000;

/** Maximum number of mails that are sent concurrently. */
const SEND_CONCURRENCY = 4;

/** Timeout for sending one mail, including name resolution. */
const SEND_TIMEOUT_MS = 25_000;

/** Delay before a failed write of a result is retried. */
const WRITE_RETRY_DELAY_MS = 500;

export type MailerDeps = {
  readonly store: Store;
  readonly leaseOwner: LeaseOwner;
  readonly clock: Clock;
  readonly mailTransport: MailTransport;
  readonly log: Log;
  readonly baseUrl: () => string;
  readonly endedHookRetentionMs: MailTemplateValues['endedHookRetentionMs'];
  readonly onMailDecided: (decision: MailDecision['is']) => void;
};

/**
 * Sends hook alerts to the owners of hooks by mail (X10): polls, claims due mails, sends them and stores the results. No
 * transaction or lock is held while a mail is sent. A mail that was sent just before a crash is sent again with the same
 * Message-ID.
 */
export class Mailer {
  readonly #deps: MailerDeps;
  readonly #pollLoop: PollLoop;
  readonly #sendAbortControllers = new Set<AbortController>();
  #isStopping = false;

  constructor(deps: MailerDeps) {
    this.#deps = deps;
    this.#pollLoop = new PollLoop({
      clock: deps.clock,
      intervalMs: MAIL_POLL_INTERVAL_MS,
      runTurn: () => this.#poll(),
      onTurnFailed: (error) => deps.log.error({ event: 'mail.poll_failed', err: error }),
    });
  }

  /** Polls immediately, then every MAIL_POLL_INTERVAL_MS. */
  start(): void {
    void this.#pollLoop.startNow();
  }

  /**
   * Stops claiming mails. Mails that are being sent may finish within `graceMs`. Later they are aborted, and sent again
   * after the next start.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const cancelDeadline = startDeadline(this.#deps.clock, graceMs, () => {
      for (const controller of this.#sendAbortControllers) controller.abort();
    });
    await this.#pollLoop.stop();
    cancelDeadline();
  }

  async #poll(): Promise<void> {
    const { store, leaseOwner, clock } = this.#deps;
    await createMails(store, clock.now());
    while (!this.#isStopping && leaseOwner.isLeaseValid()) {
      const mails = await claimMails(store, leaseOwner, clock.now(), SEND_CONCURRENCY);
      if (mails.length === 0) return;
      const results = await Promise.allSettled(mails.map((mail) => this.#send(mail)));
      const failedResult = results.find((result) => result.status === 'rejected');
      if (failedResult !== undefined) throw failedResult.reason;
    }
  }

  async #send(mail: ClaimedMail): Promise<void> {
    const { store, clock, mailTransport, baseUrl, endedHookRetentionMs } = this.#deps;
    const content = await readMailContent(store.read, mail);
    if (content === undefined) return this.#writeWithRetries(() => deleteMail(store, mail));
    const templateValues = { domain: content.domain, baseUrl: baseUrl(), endedHookRetentionMs };
    const messageId = createMessageId(mail, templateValues.baseUrl);
    const message = {
      ...renderMessage(content.hooks, templateValues),
      to: content.to,
      messageId,
      date: new Date(clock.now()),
    };
    const outcome = await this.#runWithTimeout(SEND_TIMEOUT_MS, (signal) => mailTransport.send(message, signal));
    const decision = decideAfterSend(outcome, mail);
    this.#reportDecision(mail, decision, outcome, { message_id: messageId, hooks: content.hooks.length });
    await this.#writeWithRetries(() => this.#storeDecision(mail, decision));
  }

  /** Runs an operation with a signal that is aborted after the timeout, or when the grace period of `stop` is over. */
  async #runWithTimeout<T>(timeoutMs: number, operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const cancelTimeout = startDeadline(this.#deps.clock, timeoutMs, () => controller.abort());
    this.#sendAbortControllers.add(controller);
    try {
      return await operation(controller.signal);
    } finally {
      cancelTimeout();
      this.#sendAbortControllers.delete(controller);
    }
  }

  #storeDecision(mail: ClaimedMail, decision: MailDecision): Promise<void> {
    const { store, leaseOwner, clock } = this.#deps;
    const now = clock.now();
    switch (decision.is) {
      case 'sent':
        return deleteMail(store, mail, now);
      case 'given_up':
        return deleteMail(store, mail);
      case 'retry':
        return postponeMail(store, leaseOwner, mail, { dueAt: now + decision.waitMs, sealed: decision.sealed });
    }
  }

  /**
   * Stores a result. Retries until the database is available, so that a mail that the server has accepted is not sent
   * again.
   */
  async #writeWithRetries(write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        this.#deps.log.error({ event: 'mail.complete_failed', err: error });
        if (this.#isStopping) return;
        await sleep(this.#deps.clock, WRITE_RETRY_DELAY_MS);
      }
    }
  }

  #reportDecision(
    mail: ClaimedMail,
    decision: MailDecision,
    outcome: SendOutcome,
    details: Record<string, unknown>,
  ): void {
    const { log, onMailDecided } = this.#deps;
    const logFields = { account_id: mail.accountId, user_id: mail.userId, tries: mail.tries + 1, ...details };
    const reasonField = 'reason' in outcome ? { reason: outcome.reason } : {};
    onMailDecided(decision.is);
    if (decision.is === 'sent') log.info({ event: 'mail.sent', ...logFields });
    if (decision.is === 'retry')
      log.warn({ event: 'mail.failed', ...logFields, ...reasonField, wait_ms: decision.waitMs });
    if (decision.is === 'given_up') log.error({ event: 'mail.given_up', ...logFields, ...reasonField });
  }
}

/** Returns a globally unique Message-ID. It contains the creation time, because ids start again in a new database. */
function createMessageId({ mailId, createdAt }: ClaimedMail, baseUrl: string): string {
  return `<carillon.${mailId}.${createdAt}@${new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, 'ipv6-$1').replaceAll(':', '-')}>`;
}

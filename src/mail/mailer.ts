import type { Clock } from '../clock.ts';
import type { LeaseOwner } from '../delivery/cluster/leases.ts';
import { startDeadline } from '../delivery/transport/deadline.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import { type Place, renderMessage } from './message.ts';
import { claimMails, closeMail, type Mail, makeMails, postponeMail, readMail } from './queue.ts';
import { type Decision, decide, type Outcome } from './retry-policy.ts';
import type { Post } from './smtp.ts';

/** How often it is looked for what is due. */
const LOOK_MS = 10_000;

/** How many mails are handed over at once. */
const SEND_CONCURRENCY = 4;

/** What one conversation with the server may take, from the name to the end. */
const SEND_TIMEOUT_MS = 25_000;

/** After a decision could not be written down: when it is tried again. */
const WRITE_RETRY_DELAY_MS = 500;

export type MailerPorts = {
  readonly store: Store;
  readonly holder: LeaseOwner;
  readonly clock: Clock;
  readonly post: Post;
  readonly log: Log;
  readonly baseUrl: () => string;
  readonly keptMs: Place['keptMs'];
  readonly onMail: (decision: Decision['is']) => void;
};

/**
 * Mails owners what they are pending (X10): looks, takes up what is due, hands it over, and writes down what has become of it.
 * Nothing is held open while it speaks with the server: no transaction, no lock. A mail that was handed over just before a
 * crash goes out again, under the same Message-ID.
 */
export class Mailer {
  readonly #ports: MailerPorts;
  readonly #underWay = new Set<AbortController>();
  #looking: Promise<void> = Promise.resolve();
  #stopping = false;
  #cancelLook: () => void = () => undefined;

  constructor(ports: MailerPorts) {
    this.#ports = ports;
  }

  /** Looks, and from then on every few seconds. */
  start(): void {
    this.#looking = this.#look().then(() => {
      if (!this.#stopping) this.#cancelLook = this.#ports.clock.after(LOOK_MS, () => this.start());
    });
  }

  /** Takes nothing up any more; what is being handed over may finish for `graceMs`, and the rest is sent after the next start. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#cancelLook();
    const cut = startDeadline(this.#ports.clock, graceMs, () => {
      for (const conversation of this.#underWay) conversation.abort();
    });
    await this.#looking;
    cut();
  }

  async #look(): Promise<void> {
    const { store, holder, clock, log } = this.#ports;
    try {
      await makeMails(store, clock.now());
      while (!this.#stopping && holder.isLeaseValid()) {
        const mails = await claimMails(store, holder, clock.now(), SEND_CONCURRENCY);
        if (mails.length === 0) return;
        const delivered = await Promise.allSettled(mails.map((mail) => this.#deliver(mail)));
        const failed = delivered.find((one) => one.status === 'rejected');
        if (failed !== undefined) throw failed.reason;
      }
    } catch (error) {
      log.error({ event: 'mail.poll_failed', err: error });
    }
  }

  async #deliver(mail: Mail): Promise<void> {
    const { store, clock, post, baseUrl, keptMs } = this.#ports;
    const content = await readMail(store.read, mail);
    if (content === undefined) return this.#write(() => closeMail(store, mail));
    const place = { domain: content.domain, baseUrl: baseUrl(), keptMs };
    const messageId = messageIdOf(mail, place.baseUrl);
    const letter = { ...renderMessage(content.hooks, place), to: content.to, messageId, date: new Date(clock.now()) };
    const outcome = await this.#within(SEND_TIMEOUT_MS, (signal) => post.send(letter, signal));
    const decision = decide(outcome, mail);
    this.#report(mail, decision, outcome, { message_id: messageId, hooks: content.hooks.length });
    await this.#write(() => this.#settle(mail, decision));
  }

  /** A stop waits for it, and ends it when that takes too long. */
  async #within<T>(milliseconds: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const conversation = new AbortController();
    const cancel = startDeadline(this.#ports.clock, milliseconds, () => conversation.abort());
    this.#underWay.add(conversation);
    try {
      return await work(conversation.signal);
    } finally {
      cancel();
      this.#underWay.delete(conversation);
    }
  }

  #settle(mail: Mail, decision: Decision): Promise<void> {
    const { store, holder, clock } = this.#ports;
    const now = clock.now();
    switch (decision.is) {
      case 'sent':
        return closeMail(store, mail, now);
      case 'given_up':
        return closeMail(store, mail);
      case 'retry':
        return postponeMail(store, holder, mail, { dueAt: now + decision.waitMs, sealed: decision.sealed });
    }
  }

  /** What the server has taken is not handed over again because the database was away for a moment. */
  async #write(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        this.#ports.log.error({ event: 'mail.complete_failed', err: error });
        if (this.#stopping) return;
        await new Promise<void>((resolve) => this.#ports.clock.after(WRITE_RETRY_DELAY_MS, resolve));
      }
    }
  }

  #report(mail: Mail, decision: Decision, outcome: Outcome, facts: Record<string, unknown>): void {
    const { log, onMail } = this.#ports;
    const about = { account_id: mail.accountId, user_id: mail.userId, tries: mail.tries + 1, ...facts };
    const reason = 'reason' in outcome ? { reason: outcome.reason } : {};
    onMail(decision.is);
    if (decision.is === 'sent') log.info({ event: 'mail.sent', ...about });
    if (decision.is === 'retry') log.warn({ event: 'mail.failed', ...about, ...reason, wait_ms: decision.waitMs });
    if (decision.is === 'given_up') log.error({ event: 'mail.given_up', ...about, ...reason });
  }
}

/** No other mail of any service has it: ids begin anew with a new database, moments do not. */
function messageIdOf({ mailId, madeAt }: Mail, baseUrl: string): string {
  return `<carillon.${mailId}.${madeAt}@${new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, 'ipv6-$1').replaceAll(':', '-')}>`;
}

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Notification } from '../../../packages/sdk/src/notifications.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { Outcome } from '../../delivery/dispatcher/attempt-outcome.ts';
import { type Attempt, createAttempt } from '../../delivery/transport/attempt.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { signatureOf } from '../../delivery/transport/signature.ts';
import type { SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { version } from '../../version.ts';
import { pause, Waits } from './backoff.ts';
import type { Listener } from './cursor-file.ts';

/** What forwarding an occurrence has come to: the last answer, and how many attempts it took. */
export type Told = { readonly outcome: Outcome; readonly webhookId: string; readonly attempts: number };

export type ForwardOptions = {
  readonly target: string;
  readonly timeoutMs: number;
  /** What it is signed by, as a signed hook is; undefined: not at all. */
  readonly secret: string | undefined;
  /** Any answer is enough; without it, 200 alone is. */
  readonly onceEach: boolean;
  readonly signal: AbortSignal;
  /** Something that did not go well: it is tried again. */
  readonly failed: (entry: Notification, told: Told) => void;
  readonly clock?: Clock;
  readonly attempt?: Attempt;
};

/**
 * Whoever types an address may call it: the rules of a service, which is told by strangers whom to call, are not needed
 * on a developer's own machine.
 */
const unguarded: SsrfGuard = {
  async check(url, timeoutMs = 5_000) {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const resolved = isIP(host) === 0 ? await resolve(host, timeoutMs) : { addresses: [host] };
    if ('failure' in resolved) return resolved;
    const addresses = resolved.addresses.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }) as const);
    return { allowed: true, addresses };
  },
};

const resolve = createResolver();

/** Sends occurrences to an address as the service would, by its own attempt, each until it is settled. */
export class Forwarder {
  readonly #listener: Listener;
  readonly #options: ForwardOptions;
  readonly #clock: Clock;
  readonly #attempt: Attempt;
  readonly #waits = new Waits();

  constructor(listener: Listener, options: ForwardOptions) {
    const { clock = systemClock } = options;
    this.#listener = listener;
    this.#options = options;
    this.#clock = clock;
    this.#attempt = options.attempt ?? createAttempt({ guard: unguarded, userAgent: `Carillon/${version}`, clock });
  }

  /** Rejects only when the signal is aborted, or when this machine cannot try at all. */
  async tell(entry: Notification): Promise<Told> {
    const { target, timeoutMs, secret, signal, failed } = this.#options;
    const webhookId = webhookIdOf(this.#listener, entry);
    const body = JSON.stringify({ resource_url: entry.resource_url });
    for (let attempts = 1; ; attempts += 1) {
      const secrets = secret === undefined ? [] : [{ secret, since: 0, until: null }];
      const signature = signatureOf(secrets, { id: webhookId, body, now: this.#clock.now() });
      const order = { target, body, deliveryId: webhookId, signature, deadlineMs: timeoutMs, signal };
      const outcome = await this.#attempt(order);
      signal.throwIfAborted();
      const told = { outcome, webhookId, attempts };
      if (this.#isSettled(outcome)) {
        this.#waits.reset();
        return told;
      }
      failed(entry, told);
      await pause(this.#clock, this.#waits.next(), signal);
    }
  }

  #isSettled(outcome: Outcome): boolean {
    return outcome.kind === 'answered' && (outcome.status === 200 || this.#options.onceEach);
  }
}

/**
 * The same whenever this occurrence is sent again, also by another process. A service that began anew counts its cursors
 * from the start: what a receiver remembers of the last one must not be taken for these.
 */
export function webhookIdOf({ service, domain }: Listener, entry: Notification): string {
  const { cursor, kind, resource_url, occurred_at } = entry;
  const facts = [service, domain, cursor, kind, resource_url, occurred_at].join('\n');
  return `listen_${cursor}_${createHash('sha256').update(facts).digest('hex').slice(0, 12)}`;
}

/** What an attempt came to, in a word: the status, or what stood in its way. */
export function wordOf(outcome: Outcome): string {
  if (outcome.kind === 'answered') return String(outcome.status);
  return outcome.kind === 'failed' ? outcome.cause : outcome.fault;
}

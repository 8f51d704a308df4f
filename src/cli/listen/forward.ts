import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { FeedEntry } from '../../../packages/sdk/src/notifications.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { AttemptOutcome } from '../../delivery/dispatcher/attempt-outcome.ts';
import { type Attempt, createAttempt } from '../../delivery/transport/attempt.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { signatureHeaders } from '../../delivery/transport/signature.ts';
import type { SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { version } from '../../version.ts';
import type { ListenerIdentity } from './cursor-file.ts';
import { Backoff, pause } from './feed.ts';

/** Result of forwarding an occurrence: the last outcome and the number of attempts. */
export type ForwardResult = { readonly outcome: AttemptOutcome; readonly webhookId: string; readonly attempts: number };

export type ForwardOptions = {
  readonly target: string;
  readonly timeoutMs: number;
  /** Signing secret, as for a signed hook; undefined to send unsigned requests. */
  readonly secret: string | undefined;
  /** Whether any response counts as delivered, not only 200. */
  readonly onceEach: boolean;
  readonly signal: AbortSignal;
  /** Called after a failed attempt, before the retry. */
  readonly onFailedAttempt: (entry: FeedEntry, result: ForwardResult) => void;
  readonly clock?: Clock;
  readonly attempt?: Attempt;
};

/**
 * An SSRF guard that allows every target. The user of this command chooses the target, whereas clients of the service
 * choose the targets of hooks.
 */
const allowAllGuard: SsrfGuard = {
  async check(url, timeoutMs = 5_000) {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const resolved = isIP(host) === 0 ? await resolveHost(host, timeoutMs) : { addresses: [host] };
    if ('failure' in resolved) return resolved;
    const addresses = resolved.addresses.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }) as const);
    return { allowed: true, addresses };
  },
};

const resolveHost = createResolver();

/**
 * Forwards occurrences to a URL with the HTTP client that the service uses for its attempts. Retries each occurrence
 * until it is delivered.
 */
export class Forwarder {
  readonly #listener: ListenerIdentity;
  readonly #options: ForwardOptions;
  readonly #clock: Clock;
  readonly #attempt: Attempt;
  readonly #backoff = new Backoff();

  constructor(listener: ListenerIdentity, options: ForwardOptions) {
    const { clock = systemClock } = options;
    this.#listener = listener;
    this.#options = options;
    this.#clock = clock;
    this.#attempt = options.attempt ?? createAttempt({ guard: allowAllGuard, userAgent: `Carillon/${version}`, clock });
  }

  /** Forwards one occurrence. Rejects only if the signal is aborted, or if this machine cannot send requests at all. */
  async forward(entry: FeedEntry): Promise<ForwardResult> {
    const { target, timeoutMs, secret, signal, onFailedAttempt } = this.#options;
    const webhookId = webhookIdOf(this.#listener, entry);
    const body = JSON.stringify({ resource_url: entry.resource_url });
    for (let attempts = 1; ; attempts += 1) {
      const secrets = secret === undefined ? [] : [{ secret, since: 0, until: null }];
      const signature = signatureHeaders(secrets, { id: webhookId, body, now: this.#clock.now() });
      const request = { target, body, deliveryId: webhookId, signature, deadlineMs: timeoutMs, signal };
      const outcome = await this.#attempt(request);
      signal.throwIfAborted();
      const result = { outcome, webhookId, attempts };
      if (this.#isDelivered(outcome)) {
        this.#backoff.reset();
        return result;
      }
      onFailedAttempt(entry, result);
      await pause(this.#clock, this.#backoff.nextWaitMs(), signal);
    }
  }

  #isDelivered(outcome: AttemptOutcome): boolean {
    return outcome.kind === 'answered' && (outcome.status === 200 || this.#options.onceEach);
  }
}

/**
 * Returns the Webhook-Id of an occurrence, which is the same for every retry and every process. It contains a hash: a
 * new database counts its cursors from 1 again, and receivers must not mistake its occurrences for known ones.
 */
export function webhookIdOf({ service, domain }: ListenerIdentity, entry: FeedEntry): string {
  const { cursor, kind, resource_url, occurred_at } = entry;
  const identity = [service, domain, cursor, kind, resource_url, occurred_at].join('\n');
  return `listen_${cursor}_${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
}

/** Returns the HTTP status of an outcome, or its failure code. */
export function outcomeText(outcome: AttemptOutcome): string {
  if (outcome.kind === 'answered') return String(outcome.status);
  return outcome.kind === 'failed' ? outcome.cause : outcome.code;
}

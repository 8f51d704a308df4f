import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { FeedEntry } from '../../../packages/sdk/src/notifications.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { AttemptOutcome } from '../../delivery/dispatcher/retry-policy.ts';
import { createAttemptSender, type SendAttempt } from '../../delivery/transport/attempt.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { createSignatureHeaders } from '../../delivery/transport/signature.ts';
import type { SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { version } from '../../version.ts';
import type { ListenerIdentity } from './cursor-file.ts';
import { Backoff, pause } from './feed.ts';

/** Result of forwarding an occurrence: the last outcome and the number of attempts. */
export type ForwardResult = {
  readonly outcome: AttemptOutcome;
  readonly webhookId: string;
  readonly attemptCount: number;
};

type ForwardOptions = {
  readonly target: string;
  readonly timeoutMs: number;
  /** Signing secret, as for a signed hook; undefined to send unsigned requests. */
  readonly signingSecret: string | undefined;
  /** Whether any response counts as delivered, not only 200. */
  readonly acceptsAnyResponse: boolean;
  readonly signal: AbortSignal;
  /** Called after a failed attempt, before the retry. */
  readonly onFailedAttempt: (entry: FeedEntry, result: ForwardResult) => void;
  readonly clock?: Clock;
  readonly sendAttempt?: SendAttempt;
};

/**
 * An SSRF guard that allows every target. The user of this command chooses the target, whereas clients of the service
 * choose the targets of hooks.
 */
const allowAllGuard: SsrfGuard = {
  async checkTarget(url, timeoutMs = 5_000) {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const resolution = isIP(host) === 0 ? await resolveHost(host, timeoutMs) : { addresses: [host] };
    if ('failure' in resolution) return resolution;
    const addresses = resolution.addresses.map(
      (address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }) as const,
    );
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
  readonly #sendAttempt: SendAttempt;
  readonly #backoff = new Backoff();

  constructor(listener: ListenerIdentity, options: ForwardOptions) {
    const { clock = systemClock } = options;
    this.#listener = listener;
    this.#options = options;
    this.#clock = clock;
    this.#sendAttempt =
      options.sendAttempt ?? createAttemptSender({ guard: allowAllGuard, userAgent: `Carillon/${version}`, clock });
  }

  /** Forwards one occurrence. Throws only if the signal is aborted or this machine cannot send requests. */
  async forward(entry: FeedEntry): Promise<ForwardResult> {
    const { target, timeoutMs, signingSecret, signal, onFailedAttempt } = this.#options;
    const webhookId = createWebhookId(this.#listener, entry);
    const body = JSON.stringify({ resource_url: entry.resource_url });
    for (let attemptCount = 1; ; attemptCount += 1) {
      const signingSecrets = signingSecret === undefined ? [] : [{ secret: signingSecret, since: 0, until: null }];
      const signatureHeaders = createSignatureHeaders(signingSecrets, { webhookId, body, sentAt: this.#clock.now() });
      const headers = [...createOccurrenceHeaders(entry), ...signatureHeaders];
      const request = { target, body, deliveryId: webhookId, headers, timeoutMs, signal };
      const outcome = await this.#sendAttempt(request);
      signal.throwIfAborted();
      const result = { outcome, webhookId, attemptCount };
      if (this.#isDelivered(outcome)) {
        this.#backoff.reset();
        return result;
      }
      onFailedAttempt(entry, result);
      await pause(this.#clock, this.#backoff.takeNextWaitMs(), signal);
    }
  }

  #isDelivered(outcome: AttemptOutcome): boolean {
    return outcome.kind === 'answered' && (outcome.status === 200 || this.#options.acceptsAnyResponse);
  }
}

/** Returns the headers that describe the occurrence, as those of a hook do (X11), as alternating names and values. */
function createOccurrenceHeaders({ kind, cursor, fields }: FeedEntry): readonly string[] {
  // Earlier versions of the service have no fields in the feed.
  const fieldHeaders = kind.startsWith('changed_') && fields !== undefined ? ['webhook-fields', fields.join()] : [];
  return ['webhook-event', kind, 'webhook-cursor', cursor, ...fieldHeaders];
}

/**
 * Returns the Webhook-Id of an occurrence. The id is the same in every retry and every process. The id contains a hash,
 * because the cursors of a new database start at 1 again: from the cursor alone, receivers would take new occurrences
 * for duplicates.
 */
export function createWebhookId({ service, domain }: ListenerIdentity, entry: FeedEntry): string {
  const { cursor, kind, resource_url, occurred_at } = entry;
  const identityText = [service, domain, cursor, kind, resource_url, occurred_at].join('\n');
  return `listen_${cursor}_${createHash('sha256').update(identityText).digest('hex').slice(0, 12)}`;
}

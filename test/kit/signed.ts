import { mock } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { Notification } from './target.ts';

/** What of a notification is signed. */
export type Signed = Pick<Notification, 'headers' | 'body'>;

/**
 * Whether a receiver with this secret takes a notification at a moment, as the library of Standard Webhooks says; it
 * looks at the clock.
 *
 * @param now milliseconds since the epoch
 */
export function isTaken(secret: string, { headers, body }: Signed, now = Date.now()): boolean {
  const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  mock.timers.enable({ apis: ['Date'], now });
  try {
    new Webhook(secret).verify(body, Object.fromEntries(given));
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  } finally {
    mock.timers.reset();
  }
}

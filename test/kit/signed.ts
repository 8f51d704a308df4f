import { mock } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { Notification } from './target.ts';

/** The signed parts of a notification. */
export type Signed = Pick<Notification, 'headers' | 'body'>;

/**
 * Whether the Standard Webhooks library accepts a notification with this secret. The library reads the system
 * clock, which is mocked.
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

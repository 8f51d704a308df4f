import type { DeliveryDetail } from '../../../../packages/sdk/src/activity.ts';
import { client } from '../../app/client.ts';
import { lasting } from '../../components/timestamp.tsx';
import { tell } from '../../components/toast.tsx';
import { adviceFor, outcomeWords } from '../../delivery/delivery-text.ts';

const TIMEOUT_MS = 30_000;
const FIRST_POLL_MS = 300;
const POLL_INTERVAL_MS = 1_000;

/** Polls a delivery until it has more than `before` attempts; undefined after the timeout. */
async function nextAttempt(deliveryId: string, before: number): Promise<DeliveryDetail | undefined> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (let waitMs = FIRST_POLL_MS; Date.now() < deadline; waitMs = POLL_INTERVAL_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const delivery = await client.deliveries.get(deliveryId);
    if (delivery.attempts.length > before) return delivery;
  }
  return undefined;
}

/** Shows the outcome of a manual attempt as a toast. */
export async function tellOutcome(what: string, deliveryId: string, before = 0): Promise<void> {
  const last = (await nextAttempt(deliveryId, before))?.attempts.at(-1);
  if (last === undefined) {
    tell(`${what} is on its way; no answer yet.`);
    return;
  }
  const words = `${what}: ${outcomeWords(last.outcome)} after ${lasting(Number(last.milliseconds))}.`;
  const advice = adviceFor(last.outcome);
  tell(advice === undefined ? words : `${words} ${advice}`, { isBad: last.outcome !== '200' });
}

import './delivery.css';
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Delivery, DeliveryState, HookDelivery } from '../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import type { HourCounts } from '../../../packages/sdk/src/stats.ts';
import { usePolling } from '../app/use-query.ts';
import { CodeBlock, formatCurl } from '../components/api-call.tsx';
import { Badge, type Tone } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Sparkline, type SparklineBar } from '../components/sparkline.tsx';
import { ClockTime, formatDuration, parseTimestamp } from '../components/timestamp.tsx';
import { describeOutcome, explainEnd, formatCount, maskTarget, recordPathOf, webhookBody } from './delivery-text.ts';

/** Target URLs that the user has unmasked. All screens share this set until the page is reloaded. */
const unmaskedTargets = signal<ReadonlySet<string>>(new Set());

/** Target URL of a hook. The path of the URL is a shared secret, so it is masked until the user unmasks it. */
export function TargetUrl({ url }: { readonly url: string }) {
  const isUnmasked = unmaskedTargets.value.has(url);
  const canBeMasked = maskTarget(url) !== url;
  const toggle = () => {
    const next = new Set(unmaskedTargets.value);
    if (!next.delete(url)) next.add(url);
    unmaskedTargets.value = next;
  };
  return (
    <span class="target">
      <code class={isUnmasked ? 'whole' : 'cut'}>{isUnmasked ? url : maskTarget(url)}</code>
      {canBeMasked && (
        <Button
          variant="quiet"
          icon="eye"
          pressed={isUnmasked}
          label={isUnmasked ? 'Hide the path of the target' : 'Show the whole target'}
          onClick={toggle}
        />
      )}
    </span>
  );
}

/** Countdown to a timestamp, updated every second. */
export function Countdown({ until }: { readonly until: string }) {
  const [now, setNow] = useState(Date.now);
  usePolling(1_000, () => setNow(Date.now()));
  const left = (parseTimestamp(until)?.getTime() ?? 0) - now;
  return <span class="number">{left <= 0 ? 'now' : `in ${formatDuration(Math.max(1_000, left))}`}</span>;
}

export function HookBadge({ hook }: { readonly hook: Hook }) {
  if (hook.state === 'live') return <Badge tone="good">live</Badge>;
  if (hook.state === 'failing') return <Badge tone="warn">failing {hook.failures} of 3</Badge>;
  return <Badge tone={hook.ended_reason === 'deleted' ? 'plain' : 'bad'}>ended</Badge>;
}

/** Text after the state badge of a hook: last outcome, time of the next attempt, or the reason why the hook ended. */
export function HookStateDetails({ hook }: { readonly hook: Hook }) {
  if (hook.state === 'live') return <>{capitalize(describeOutcome(hook.last_outcome))}</>;
  if (hook.state === 'ended') return <>{capitalize(explainEnd(hook).why)}</>;
  return (
    <>
      {capitalize(describeOutcome(hook.last_outcome))}; tries again <Countdown until={hook.next_attempt_at} />
    </>
  );
}

/** Capitalizes the first letter of a text. */
export function capitalize(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const deliveryStateTones: Readonly<Record<DeliveryState, Tone>> = {
  pending: 'info',
  delivered: 'good',
  undelivered: 'bad',
  failed: 'bad',
};

export function DeliveryBadge({ state }: { readonly state: DeliveryState }) {
  return <Badge tone={deliveryStateTones[state]}>{state}</Badge>;
}

const HOUR_MS = 3_600_000;

/** Returns one bar for each of the last 24 hours, oldest first, also for hours without attempts. */
function sparklineBars(hours: readonly HourCounts[], now = Date.now()): readonly SparklineBar[] {
  const byHour = new Map(hours.map((hour) => [parseTimestamp(hour.hour)?.getTime(), hour]));
  return Array.from({ length: 24 }, (_, index) => {
    const at = (Math.floor(now / HOUR_MS) - 23 + index) * HOUR_MS;
    const hour = byHour.get(at);
    const label = new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    return { label, delivered: Number(hour?.delivered ?? 0), failed: Number(hour?.failed ?? 0) };
  });
}

/** Sparkline and totals of a hook's last 24 hours. */
export function LastDay({ hours, height }: { readonly hours: readonly HourCounts[]; readonly height?: number }) {
  const sum = (name: 'delivered' | 'failed') => hours.reduce((total, hour) => total + Number(hour[name]), 0);
  const [delivered, failed] = [sum('delivered'), sum('failed')];
  const words = `${formatCount(delivered, 'delivered', 'delivered')}, ${formatCount(failed, 'failed', 'failed')}`;
  return (
    <div class="last-day">
      <Sparkline bars={sparklineBars(hours)} height={height} label={`The last 24 hours: ${words}`} />
      <span class="small soft number">{delivered + failed === 0 ? 'quiet for a day' : words}</span>
    </div>
  );
}

/** Shows the webhook request as it was sent, and the API call that fetches the record. */
export function WebhookRequest({ delivery, target }: { readonly delivery: Delivery; readonly target: string }) {
  const sent = [
    `POST ${maskTarget(target)}`,
    'content-type: application/json',
    `webhook-id: ${delivery.id}`,
    '',
    webhookBody(delivery.resource_url),
  ].join('\n');
  return (
    <div class="halved">
      <div class="stack">
        <h3>The notification</h3>
        <CodeBlock label="The notification as it went out" text={sent} />
      </div>
      <div class="stack">
        <h3>What fetches its record</h3>
        <CodeBlock
          label="The call that fetches the record"
          text={formatCurl({ method: 'GET', path: recordPathOf(delivery.resource_url) })}
        />
      </div>
    </div>
  );
}

/** Read receipt of a delivery: whether a key of the hook's user has fetched the record of a delivered notification. */
type ReadStatus = 'not delivered' | 'read' | 'never read';

export function readStatusOf({ state, fetched_at }: HookDelivery): ReadStatus {
  if (state !== 'delivered') return 'not delivered';
  return parseTimestamp(fetched_at) === undefined ? 'never read' : 'read';
}

/** Explains the badge of a delivered notification whose record was never fetched. */
export const NEVER_READ_TEXT =
  'The target answered 200, and no key of the hook’s user has fetched the record since. Either the application ' +
  'dropped the notification after answering, or it knows the record from elsewhere.';

/** Badge that shows whether the record of a delivered notification was fetched. */
export function ReadReceipt({ delivery }: { readonly delivery: HookDelivery }) {
  const readStatus = readStatusOf(delivery);
  if (readStatus === 'not delivered') return null;
  if (readStatus === 'never read') {
    return (
      <span class="mark unread" title={NEVER_READ_TEXT}>
        told, never read
      </span>
    );
  }
  return (
    <span class="mark read">
      read <ClockTime at={delivery.fetched_at} />
    </span>
  );
}

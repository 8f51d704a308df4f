import './delivery.css';
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { ActivityDelivery, Delivery, DeliveryState } from '../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import type { HourCounts } from '../../../packages/sdk/src/stats.ts';
import { usePolling } from '../app/use-query.ts';
import { CodeBlock, formatCurlCommand } from '../components/api-call.tsx';
import { Badge, type Tone } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Sparkline, type SparklineBar } from '../components/sparkline.tsx';
import { ClockTime, formatDuration, parseTimestamp } from '../components/timestamp.tsx';
import {
  buildWebhookBody,
  describeOutcome,
  explainHookEnd,
  formatCountWithNoun,
  maskTargetUrl,
  recordPathOf,
  shownStateOf,
} from './delivery-text.ts';

/** Target URLs that the user has unmasked. All screens share this set until the page is reloaded. */
const unmaskedTargets = signal<ReadonlySet<string>>(new Set());

/** Target URL of a hook. The path of the URL is a shared secret, so it is masked until the user unmasks it. */
export function TargetUrl({ url }: { readonly url: string }) {
  const isUnmasked = unmaskedTargets.value.has(url);
  const canBeMasked = maskTargetUrl(url) !== url;
  const toggleMask = () => {
    const nextTargets = new Set(unmaskedTargets.value);
    if (!nextTargets.delete(url)) nextTargets.add(url);
    unmaskedTargets.value = nextTargets;
  };
  return (
    <span class="target">
      <code class={isUnmasked ? 'whole' : 'cut'}>{isUnmasked ? url : maskTargetUrl(url)}</code>
      {canBeMasked && (
        <Button
          variant="quiet"
          icon="eye"
          pressed={isUnmasked}
          label={isUnmasked ? 'Hide the path of the target' : 'Show the whole target'}
          onClick={toggleMask}
        />
      )}
    </span>
  );
}

/** Countdown to a timestamp, updated every second. */
export function Countdown({ endTimestamp }: { readonly endTimestamp: string }) {
  const [now, setNow] = useState(Date.now);
  usePolling(1_000, () => setNow(Date.now()));
  const remainingMs = (parseTimestamp(endTimestamp)?.getTime() ?? 0) - now;
  return <span class="number">{remainingMs <= 0 ? 'now' : `in ${formatDuration(Math.max(1_000, remainingMs))}`}</span>;
}

export function HookStateBadge({ hook }: { readonly hook: Hook }) {
  if (shownStateOf(hook) === 'disabled') return <Badge>disabled</Badge>;
  if (hook.state === 'live') return <Badge tone="good">live</Badge>;
  if (hook.state === 'failing') return <Badge tone="warn">failing {hook.failures} of 3</Badge>;
  return <Badge tone={hook.ended_reason === 'deleted' ? 'plain' : 'bad'}>ended</Badge>;
}

/** Text after the state badge of a hook: last outcome, time of the next attempt, or the reason why the hook ended. */
export function HookStateDetails({ hook }: { readonly hook: Hook }) {
  if (shownStateOf(hook) === 'disabled') return <>Notifications stay pending</>;
  if (hook.state === 'live') return <>{capitalize(describeOutcome(hook.last_outcome))}</>;
  if (hook.state === 'ended') return <>{capitalize(explainHookEnd(hook).reason)}</>;
  return (
    <>
      {capitalize(describeOutcome(hook.last_outcome))}; next attempt <Countdown endTimestamp={hook.next_attempt_at} />
    </>
  );
}

/** Capitalizes the first letter of a text. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const deliveryStateTones: Readonly<Record<DeliveryState, Tone>> = {
  pending: 'info',
  delivered: 'good',
  undelivered: 'bad',
  failed: 'bad',
};

export function DeliveryStateBadge({ state }: { readonly state: DeliveryState }) {
  return <Badge tone={deliveryStateTones[state]}>{state}</Badge>;
}

const HOUR_MS = 3_600_000;

/** Returns one bar for each of the last 24 hours, oldest first, also for hours without attempts. */
function buildSparklineBars(hourlyCounts: readonly HourCounts[], now = Date.now()): readonly SparklineBar[] {
  const countsByHour = new Map(
    hourlyCounts.map((hourCounts) => [parseTimestamp(hourCounts.hour)?.getTime(), hourCounts]),
  );
  return Array.from({ length: 24 }, (_, index) => {
    const hourStartMs = (Math.floor(now / HOUR_MS) - 23 + index) * HOUR_MS;
    const hourCounts = countsByHour.get(hourStartMs);
    const label = new Date(hourStartMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    return { label, delivered: Number(hourCounts?.delivered ?? 0), failed: Number(hourCounts?.failed ?? 0) };
  });
}

/** Sparkline and totals of a hook's last 24 hours. */
export function LastDaySparkline({
  hourlyCounts,
  height,
}: {
  readonly hourlyCounts: readonly HourCounts[];
  readonly height?: number;
}) {
  const sumCounts = (countName: 'delivered' | 'failed') =>
    hourlyCounts.reduce((total, hourCounts) => total + Number(hourCounts[countName]), 0);
  const [deliveredCount, failedCount] = [sumCounts('delivered'), sumCounts('failed')];
  const countsText = `${formatCountWithNoun(deliveredCount, 'delivered', 'delivered')}, ${formatCountWithNoun(failedCount, 'failed', 'failed')}`;
  return (
    <div class="last-day">
      <Sparkline bars={buildSparklineBars(hourlyCounts)} height={height} label={`The last 24 hours: ${countsText}`} />
      <span class="small soft number">{deliveredCount + failedCount === 0 ? 'none in 24 hours' : countsText}</span>
    </div>
  );
}

/** Rows of a response box in browsers that do not size a text area by its content. */
const RESPONSE_ROWS = 4;

/** Text of a failed response. A long text can be scrolled by keyboard in a read-only text area. */
export function ResponseText({ text, label }: { readonly text: string; readonly label: string }) {
  return <textarea class="input response" readOnly rows={RESPONSE_ROWS} aria-label={label} value={text} />;
}

/** Shows the webhook request, and the API call that fetches the record. */
export function WebhookRequest({ delivery, targetUrl }: { readonly delivery: Delivery; readonly targetUrl: string }) {
  const requestText = [
    `POST ${maskTargetUrl(targetUrl)}`,
    'content-type: application/json',
    `webhook-id: ${delivery.id}`,
    `webhook-event: ${delivery.event}`,
    // A test has no position in the feed.
    ...(delivery.cursor === '0' ? [] : [`webhook-cursor: ${delivery.cursor}`]),
    '',
    buildWebhookBody(delivery.resource_url),
  ].join('\n');
  return (
    <div class="halved">
      <div class="stack">
        <h3>The notification</h3>
        <CodeBlock label="The notification" text={requestText} />
        <p class="small soft">
          Not shown: the signature and the webhook’s own headers, if it has them, and the names of changed fields.
        </p>
      </div>
      <div class="stack">
        <h3>Fetch the record</h3>
        <CodeBlock
          label="The call that fetches the record"
          text={formatCurlCommand({ method: 'GET', path: recordPathOf(delivery.resource_url) })}
        />
      </div>
    </div>
  );
}

/** Read receipt of a delivery: whether a key of the hook's user has fetched the record that the webhook announced. */
type ReadReceiptStatus = 'not delivered' | 'read' | 'never read';

export function receiptStatusOf({ state, fetched_at }: ActivityDelivery): ReadReceiptStatus {
  if (state !== 'delivered') return 'not delivered';
  return parseTimestamp(fetched_at) === undefined ? 'never read' : 'read';
}

/** Explanation of the badge for a delivered webhook whose record was never fetched. */
export const NEVER_READ_TEXT =
  'The target answered 200, and no API key of the webhook’s owner has fetched the record since. Either the application ' +
  'dropped the notification after answering, or it knows the record from elsewhere.';

/** Badge that shows whether the record of a delivered webhook was fetched. */
export function ReadReceipt({ delivery }: { readonly delivery: ActivityDelivery }) {
  const receiptStatus = receiptStatusOf(delivery);
  if (receiptStatus === 'not delivered') return null;
  if (receiptStatus === 'never read') {
    return (
      <span class="mark unread" title={NEVER_READ_TEXT}>
        not fetched
      </span>
    );
  }
  return (
    <span class="mark read">
      read <ClockTime timestamp={delivery.fetched_at} />
    </span>
  );
}

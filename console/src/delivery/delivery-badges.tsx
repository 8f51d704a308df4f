import './delivery.css';
import './delivery.css';
import './delivery.css';
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Delivery, DeliveryState, HookDelivery } from '../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import type { Hour } from '../../../packages/sdk/src/stats.ts';
import { usePolling } from '../app/use-query.ts';
import { Code, curlOf } from '../components/api-call.tsx';
import { Badge, type Tone } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { type Bar, Sparkline } from '../components/sparkline.tsx';
import { ClockTime, durationText, parseTimestamp } from '../components/timestamp.tsx';
import { bodyOf, counted, cutTarget, endedText, outcomeWords, pathOf } from './delivery-text.ts';

/** Target URLs that the user has unmasked. All screens share this set until the page is reloaded. */
const unmaskedTargets = signal<ReadonlySet<string>>(new Set());

/** Target URL of a hook. The path of the URL is a shared secret, so it is masked until the user unmasks it. */
export function Target({ url }: { readonly url: string }) {
  const isWhole = unmaskedTargets.value.has(url);
  const isCut = cutTarget(url) !== url;
  const toggle = () => {
    const next = new Set(unmaskedTargets.value);
    if (!next.delete(url)) next.add(url);
    unmaskedTargets.value = next;
  };
  return (
    <span class="target">
      <code class={isWhole ? 'whole' : 'cut'}>{isWhole ? url : cutTarget(url)}</code>
      {isCut && (
        <Button
          variant="quiet"
          icon="eye"
          pressed={isWhole}
          label={isWhole ? 'Hide the path of the target' : 'Show the whole target'}
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
  return <span class="number">{left <= 0 ? 'now' : `in ${durationText(Math.max(1_000, left))}`}</span>;
}

export function HookBadge({ hook }: { readonly hook: Hook }) {
  if (hook.state === 'live') return <Badge tone="good">live</Badge>;
  if (hook.state === 'failing') return <Badge tone="warn">failing {hook.failures} of 3</Badge>;
  return <Badge tone={hook.ended_reason === 'deleted' ? 'plain' : 'bad'}>ended</Badge>;
}

/** Text after the state badge of a hook: last outcome, time of the next attempt, or the reason why the hook ended. */
export function HookLine({ hook }: { readonly hook: Hook }) {
  if (hook.state === 'live') return <>{sentence(outcomeWords(hook.last_outcome))}</>;
  if (hook.state === 'ended') return <>{sentence(endedText(hook).why)}</>;
  return (
    <>
      {sentence(outcomeWords(hook.last_outcome))}; tries again <Countdown until={hook.next_attempt_at} />
    </>
  );
}

/** Capitalizes the first letter of a text. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const tones: Readonly<Record<DeliveryState, Tone>> = {
  pending: 'info',
  delivered: 'good',
  undelivered: 'bad',
  failed: 'bad',
};

export function DeliveryBadge({ state }: { readonly state: DeliveryState }) {
  return <Badge tone={tones[state]}>{state}</Badge>;
}

const HOUR_MS = 3_600_000;

/** Returns one bar for each of the last 24 hours, oldest first, also for hours without attempts. */
function sparklineBars(hours: readonly Hour[], now = Date.now()): readonly Bar[] {
  const byHour = new Map(hours.map((hour) => [parseTimestamp(hour.hour)?.getTime(), hour]));
  return Array.from({ length: 24 }, (_, index) => {
    const at = (Math.floor(now / HOUR_MS) - 23 + index) * HOUR_MS;
    const hour = byHour.get(at);
    const label = new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    return { label, delivered: Number(hour?.delivered ?? 0), failed: Number(hour?.failed ?? 0) };
  });
}

/** Sparkline and totals of a hook's last 24 hours. */
export function LastDay({ hours, height }: { readonly hours: readonly Hour[]; readonly height?: number }) {
  const sum = (name: 'delivered' | 'failed') => hours.reduce((total, hour) => total + Number(hour[name]), 0);
  const [delivered, failed] = [sum('delivered'), sum('failed')];
  const words = `${counted(delivered, 'delivered', 'delivered')}, ${counted(failed, 'failed', 'failed')}`;
  return (
    <div class="last-day">
      <Sparkline bars={sparklineBars(hours)} height={height} label={`The last 24 hours: ${words}`} />
      <span class="small soft number">{delivered + failed === 0 ? 'quiet for a day' : words}</span>
    </div>
  );
}

/** Shows the webhook request as it was sent, and the API call that fetches the record. */
export function Notification({ delivery, target }: { readonly delivery: Delivery; readonly target: string }) {
  const sent = [
    `POST ${cutTarget(target)}`,
    'content-type: application/json',
    `webhook-id: ${delivery.id}`,
    '',
    bodyOf(delivery.resource_url),
  ].join('\n');
  return (
    <div class="halved">
      <div class="stack">
        <h3>The notification</h3>
        <Code label="The notification as it went out" text={sent} />
      </div>
      <div class="stack">
        <h3>What fetches its record</h3>
        <Code
          label="The call that fetches the record"
          text={curlOf({ method: 'GET', path: pathOf(delivery.resource_url) })}
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
export const NEVER_READ =
  'The target answered 200, and no key of the hook’s user has fetched the record since. Either the application ' +
  'dropped the notification after answering, or it knows the record from elsewhere.';

/** Badge that shows whether the record of a delivered notification was fetched. */
export function ReadReceipt({ told: delivery }: { readonly told: HookDelivery }) {
  const reading = readStatusOf(delivery);
  if (reading === 'not delivered') return null;
  if (reading === 'never read') {
    return (
      <span class="mark unread" title={NEVER_READ}>
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

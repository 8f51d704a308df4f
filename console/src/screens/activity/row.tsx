import { Component } from 'preact';
import type { HookDelivery } from '../../../../packages/sdk/src/activity.ts';
import { hookKinds } from '../../../../packages/sdk/src/api-types.ts';
import { hrefTo } from '../../app/router.ts';
import { Badge } from '../../components/badge.tsx';
import { ClockTime, formatDuration } from '../../components/timestamp.tsx';
import { ReadReceipt, readStatusOf } from '../../delivery/delivery-badges.tsx';
import {
  describeOutcome,
  formatCount,
  hostOf,
  kindTitle,
  recordPathOf,
  splitKind,
} from '../../delivery/delivery-text.ts';
import type { ActivityEntry } from './feed-store.ts';

type FeedRowProps = { readonly entry: ActivityEntry; readonly by: string | undefined };

/** Row of one occurrence. The page shows hundreds of rows, so a row is rendered only when its entry has changed. */
export class FeedRow extends Component<FeedRowProps> {
  override shouldComponentUpdate({ entry, by }: FeedRowProps): boolean {
    return entry !== this.props.entry || by !== this.props.by;
  }

  override render() {
    const { entry, by } = this.props;
    return (
      <li class="line happening" data-cursor={entry.cursor}>
        <span class="when small soft">
          <ClockTime at={entry.occurred_at} />
        </span>
        <span class={`kind-dot ${splitKind(entry.kind).verb}`} aria-hidden="true" />
        <span class="what">
          <a class="title" href={hrefTo('activity', entry.cursor)}>
            {kindTitle(entry.kind)}
          </a>{' '}
          <code class="soft">{recordPathOf(entry.resource_url)}</code>
          {by !== undefined && <span class="small soft"> by {by}</span>}
        </span>
        <span class="came">
          <DeliveryOutcomes entry={entry} />
        </span>
      </li>
    );
  }
}

/** Maximum number of deliveries that are shown individually; if there are more, they are summarized. */
const MAX_SINGLE_DELIVERIES = 3;

/** Badge with the state of one delivery. */
export function DeliveryOutcomeBadge({ delivery }: { readonly delivery: HookDelivery }) {
  const { state, attempts, last_outcome, milliseconds } = delivery;
  if (state === 'delivered') return <Badge tone="good">delivered in {formatDuration(Number(milliseconds))}</Badge>;
  if (state !== 'pending') return <Badge tone="bad">{state}</Badge>;
  if (attempts === '0') return <Badge tone="info">pending</Badge>;
  return <Badge tone="warn">failing: {describeOutcome(last_outcome)}</Badge>;
}

/** Shows the states of all deliveries of an occurrence. */
export function DeliveryOutcomes({ entry }: { readonly entry: ActivityEntry }) {
  const { deliveries, kind } = entry;
  if (deliveries === undefined) return <span class="small soft">…</span>;
  if (deliveries.length === 0) {
    const isHookKind = hookKinds.some((one) => one === kind);
    return <span class="small soft">{isHookKind ? 'pending for no hook' : 'in the feed alone'}</span>;
  }
  if (deliveries.length > MAX_SINGLE_DELIVERIES) return <DeliverySummary deliveries={deliveries} />;
  return (
    <>
      {deliveries.map((delivery) => (
        <span key={delivery.id} class="row told">
          <DeliveryOutcomeBadge delivery={delivery} />
          <ReadReceipt delivery={delivery} />
          <a class="small soft cut" href={hrefTo('hooks', delivery.hook_id)}>
            {delivery.target_url === '' ? `hook ${delivery.hook_id}` : hostOf(delivery.target_url)}
          </a>
        </span>
      ))}
    </>
  );
}

function DeliverySummary({ deliveries }: { readonly deliveries: readonly HookDelivery[] }) {
  const count = (is: (delivery: HookDelivery) => boolean) => deliveries.filter(is).length;
  const delivered = count(({ state }) => state === 'delivered');
  const pending = count(({ state }) => state === 'pending');
  const lost = deliveries.length - delivered - pending;
  const read = count((delivery) => readStatusOf(delivery) === 'read');
  const unread = count((delivery) => readStatusOf(delivery) === 'never read');
  return (
    <span class="row told sum">
      {delivered > 0 && <Badge tone="good">{delivered} delivered</Badge>}
      {pending > 0 && <Badge tone="warn">{pending} pending</Badge>}
      {lost > 0 && <Badge tone="bad">{lost} undelivered</Badge>}
      {read > 0 && <span class="mark read">{read} read</span>}
      {unread > 0 && <span class="mark unread">{unread} never read</span>}
      <span class="small soft">{formatCount(deliveries.length, 'hook')}</span>
    </span>
  );
}

import { Component } from 'preact';
import type { ActivityDelivery } from '../../../../packages/sdk/src/activity.ts';
import { hrefTo } from '../../app/router.ts';
import { Badge } from '../../components/badge.tsx';
import { ClockTime, formatDuration } from '../../components/timestamp.tsx';
import { ReadReceipt, receiptStatusOf } from '../../delivery/delivery-badges.tsx';
import {
  describeOutcome,
  formatCountWithNoun,
  formatFieldNames,
  formatKindTitle,
  hostOf,
  recordPathOf,
  splitKind,
} from '../../delivery/delivery-text.ts';
import type { ActivityEntry } from './feed-store.ts';

type FeedRowProps = { readonly entry: ActivityEntry; readonly userName: string | undefined };

/** Row of one occurrence. The screen has hundreds of rows, so a row is rendered again only if its data has changed. */
export class FeedRow extends Component<FeedRowProps> {
  override shouldComponentUpdate({ entry, userName }: FeedRowProps): boolean {
    return entry !== this.props.entry || userName !== this.props.userName;
  }

  override render() {
    const { entry, userName } = this.props;
    return (
      <li class="line happening" data-cursor={entry.cursor}>
        <span class="when small soft">
          <ClockTime timestamp={entry.occurred_at} />
        </span>
        <span class={`kind-dot ${splitKind(entry.kind).verb}`} aria-hidden="true" />
        <span class="what">
          <a class="title" href={hrefTo('activity', entry.cursor)}>
            {formatKindTitle(entry.kind)}
          </a>{' '}
          <code class="soft">{recordPathOf(entry.resource_url)}</code>
          {entry.fields.length > 0 && <span class="small soft"> {formatFieldNames(entry.fields)}</span>}
          {userName !== undefined && <span class="small soft"> by {userName}</span>}
        </span>
        <span class="came">
          <DeliveryStates entry={entry} />
        </span>
      </li>
    );
  }
}

/** Maximum number of deliveries that are shown individually; if there are more, they are summarized. */
const MAX_SINGLE_DELIVERIES = 3;

/** Badge with the state of one delivery. */
function DetailedDeliveryStateBadge({ delivery }: { readonly delivery: ActivityDelivery }) {
  const { state, attempts, last_outcome, milliseconds } = delivery;
  if (state === 'delivered') return <Badge tone="good">delivered in {formatDuration(Number(milliseconds))}</Badge>;
  if (state !== 'pending') return <Badge tone="bad">{state}</Badge>;
  if (attempts === '0') return <Badge tone="info">pending</Badge>;
  return <Badge tone="warn">failing: {describeOutcome(last_outcome)}</Badge>;
}

/** Shows the states of all deliveries of an occurrence. */
function DeliveryStates({ entry }: { readonly entry: ActivityEntry }) {
  const { deliveries } = entry;
  if (deliveries === undefined) return <span class="small soft">…</span>;
  if (deliveries.length === 0) return <span class="small soft">no webhook</span>;
  if (deliveries.length > MAX_SINGLE_DELIVERIES) return <DeliverySummary deliveries={deliveries} />;
  return (
    <>
      {deliveries.map((delivery) => (
        <span key={delivery.id} class="row told">
          <DetailedDeliveryStateBadge delivery={delivery} />
          <ReadReceipt delivery={delivery} />
          <a class="small soft cut" href={hrefTo('hooks', delivery.hook_id)}>
            {delivery.target_url === '' ? `webhook ${delivery.hook_id}` : hostOf(delivery.target_url)}
          </a>
        </span>
      ))}
    </>
  );
}

function DeliverySummary({ deliveries }: { readonly deliveries: readonly ActivityDelivery[] }) {
  const countDeliveries = (isMatch: (delivery: ActivityDelivery) => boolean) => deliveries.filter(isMatch).length;
  const deliveredCount = countDeliveries(({ state }) => state === 'delivered');
  const pendingCount = countDeliveries(({ state }) => state === 'pending');
  const undeliveredCount = deliveries.length - deliveredCount - pendingCount;
  const readCount = countDeliveries((delivery) => receiptStatusOf(delivery) === 'read');
  const unreadCount = countDeliveries((delivery) => receiptStatusOf(delivery) === 'never read');
  return (
    <span class="row told sum">
      {deliveredCount > 0 && <Badge tone="good">{deliveredCount} delivered</Badge>}
      {pendingCount > 0 && <Badge tone="warn">{pendingCount} pending</Badge>}
      {undeliveredCount > 0 && <Badge tone="bad">{undeliveredCount} undelivered</Badge>}
      {readCount > 0 && <span class="mark read">{readCount} read</span>}
      {unreadCount > 0 && <span class="mark unread">{unreadCount} not fetched</span>}
      <span class="small soft">{formatCountWithNoun(deliveries.length, 'webhook')}</span>
    </span>
  );
}

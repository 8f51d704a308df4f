import type { ComponentChildren } from 'preact';
import type { ActivityDelivery, DeliveryDetail, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import { client } from '../../app/client.ts';
import { hrefTo, type RecordProps } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { usePolling, useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note, type Tone } from '../../components/badge.tsx';
import { Page } from '../../components/page.tsx';
import { ClockTime, formatDuration, parseTimestamp } from '../../components/timestamp.tsx';
import {
  capitalize,
  NEVER_READ_TEXT,
  ResponseText,
  receiptStatusOf,
  TargetUrl,
  WebhookRequest,
} from '../../delivery/delivery-badges.tsx';
import {
  describeOutcome,
  formatCountWithNoun,
  formatFieldNames,
  formatKindTitle,
  getOutcomeAdvice,
  recordPathOf,
} from '../../delivery/delivery-text.ts';
import './activity.css';
import { feedCursorAfter, pollUrgencyOf } from './feed-store.ts';

const FAST_POLL_INTERVAL_MS = 1_000;
const SLOW_POLL_INTERVAL_MS = 5_000;

/**
 * A delivery that is pending for longer than this time without an attempt is shown as queued behind an earlier
 * delivery of a failing hook.
 */
const QUEUED_THRESHOLD_MS = 20_000;

/** Maximum number of deliveries whose attempts are loaded; an occurrence may have thousands of deliveries. */
const MAX_SHOWN_DELIVERIES = 20;

type OccurrenceWithAttempts = {
  readonly occurrence: Occurrence;
  readonly detailsByDeliveryId: ReadonlyMap<string, DeliveryDetail>;
};

const isCursor = (text: string) => /^\d{1,15}$/.test(text);

async function loadOccurrence(cursor: string, signal: AbortSignal): Promise<OccurrenceWithAttempts | undefined> {
  if (!isCursor(cursor)) return undefined;
  const scope = isAdmin() ? 'account' : 'own';
  const { data } = await client.activity.list({ before: feedCursorAfter(cursor), limit: 1, scope }, { signal });
  const occurrence = data.find((candidate) => candidate.cursor === cursor);
  if (occurrence === undefined) return undefined;
  const deliveryDetails = await Promise.all(
    occurrence.deliveries.slice(0, MAX_SHOWN_DELIVERIES).map(({ id }) => client.deliveries.get(id, { signal })),
  );
  return { occurrence, detailsByDeliveryId: new Map(deliveryDetails.map((detail) => [detail.id, detail])) };
}

/** Page with the timeline of one occurrence (domain event): commit, attempts, delivery and read receipt. */
export default function OccurrencePage({ id: cursor }: RecordProps) {
  const { data, errorText, isLoading, reload } = useQuery((signal) => loadOccurrence(cursor, signal), [cursor]);
  const pollUrgency = data === undefined ? 'never' : pollUrgencyOf(data.occurrence, Date.now());
  usePolling({ soon: FAST_POLL_INTERVAL_MS, later: SLOW_POLL_INTERVAL_MS, never: undefined }[pollUrgency], reload);
  const recordPath = data === undefined ? '' : recordPathOf(data.occurrence.resource_url);
  return (
    <Page
      title={data === undefined ? 'One occurrence' : `${formatKindTitle(data.occurrence.kind)} ${recordPath}`}
      intro={<a href={hrefTo('activity')}>All activity</a>}
      calls={apiCallsForOccurrence(cursor, data)}
    >
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {data === undefined && isLoading && <LoadingSkeleton />}
      {data === undefined && !isLoading && errorText === undefined && (
        <Note>
          There is no such event in the log: you may have no access to it, or it is older than 90 days.{' '}
          <a href={hrefTo('activity')}>See what happens now</a>.
        </Note>
      )}
      {data !== undefined && <OccurrenceTimeline {...data} />}
    </Page>
  );
}

function apiCallsForOccurrence(cursor: string, occurrenceWithAttempts: OccurrenceWithAttempts | undefined) {
  if (!isCursor(cursor)) return [];
  const previousCursor = Math.max(0, Number(cursor) - 1);
  const recordPath =
    occurrenceWithAttempts === undefined ? undefined : recordPathOf(occurrenceWithAttempts.occurrence.resource_url);
  const [resourceName = '', recordId = ''] = (recordPath ?? '').split('/').slice(1);
  return [
    {
      description: 'Its entry in the feed',
      method: 'GET',
      path: `/notifications?after=${previousCursor}&limit=1`,
      sdk: `notifications.list({ after: '${previousCursor}', limit: 1 })`,
    },
    ...(recordPath === undefined
      ? []
      : [
          {
            description: 'The record',
            method: 'GET',
            path: recordPath,
            sdk: `${resourceName.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())}.get('${recordId}')`,
          } as const,
        ]),
    ...[...(occurrenceWithAttempts?.detailsByDeliveryId.keys() ?? [])].map(
      (deliveryId) =>
        ({
          description: `Delivery ${deliveryId} with its attempts`,
          method: 'GET',
          path: `/deliveries/${deliveryId}`,
          sdk: `deliveries.get('${deliveryId}')`,
        }) as const,
    ),
  ] as const;
}

function OccurrenceTimeline({ occurrence, detailsByDeliveryId }: OccurrenceWithAttempts) {
  const { deliveries } = occurrence;
  const hiddenDeliveryCount = deliveries.length - MAX_SHOWN_DELIVERIES;
  return (
    <>
      <ol class="card padded time-line">
        <TimelineStep tone="good" title="Recorded" timestamp={occurrence.occurred_at}>
          In one transaction with the record; event no. {occurrence.cursor} of the feed.
          {occurrence.fields.length > 0 && ` Changed: ${formatFieldNames(occurrence.fields)}.`}
        </TimelineStep>
        {deliveries.length === 0 ? (
          <TimelineStep tone="plain" title="No webhook">
            No webhook was subscribed to it at that moment. It is in the event log only.
          </TimelineStep>
        ) : (
          <TimelineStep
            tone="good"
            title={`Pending for ${formatCountWithNoun(deliveries.length, 'webhook')}`}
            timestamp={deliveries[0]?.created_at}
          >
            Recorded with the record, so no crash can lose it.
          </TimelineStep>
        )}
      </ol>
      {deliveries.slice(0, MAX_SHOWN_DELIVERIES).map((delivery) => (
        <DeliveryTimeline key={delivery.id} delivery={delivery} detail={detailsByDeliveryId.get(delivery.id)} />
      ))}
      {hiddenDeliveryCount > 0 && (
        <p class="soft">{formatCountWithNoun(hiddenDeliveryCount, 'more webhook')}: see the list of deliveries.</p>
      )}
    </>
  );
}

function DeliveryTimeline({
  delivery,
  detail,
}: {
  readonly delivery: ActivityDelivery;
  readonly detail: DeliveryDetail | undefined;
}) {
  return (
    <section class="card padded stack" aria-label={`Webhook ${delivery.hook_id}`}>
      <div class="row">
        <h2>
          <a href={hrefTo('hooks', delivery.hook_id)}>Webhook {delivery.hook_id}</a>
        </h2>
        {delivery.target_url !== '' && <TargetUrl url={delivery.target_url} />}
      </div>
      <ol class="time-line">
        {detail?.attempts.map((attempt, index) => (
          <TimelineStep
            key={index}
            tone={attempt.outcome === '200' ? 'good' : attempt.counted === '1' ? 'bad' : 'plain'}
            title={`${capitalize(describeOutcome(attempt.outcome))} after ${formatDuration(Number(attempt.milliseconds))}`}
            timestamp={attempt.attempted_at}
            below={
              attempt.response !== '' && (
                <ResponseText text={attempt.response} label={`Response to attempt ${index + 1}`} />
              )
            }
          >
            {capitalize(attempt.reason)}.{' '}
            {attempt.outcome !== '200' && index === detail.attempts.length - 1 && getOutcomeAdvice(attempt.outcome)}
          </TimelineStep>
        ))}
        <CurrentStateStep delivery={delivery} />
      </ol>
      {detail !== undefined && (
        <details>
          <summary>The notification, and how to read the record</summary>
          <WebhookRequest delivery={detail} targetUrl={delivery.target_url} />
        </details>
      )}
    </section>
  );
}

/** Last step of the timeline: the current state of a delivery. */
function CurrentStateStep({ delivery }: { readonly delivery: ActivityDelivery }) {
  if (delivery.state === 'pending') {
    const isQueued =
      delivery.attempts === '0' &&
      Date.now() - (parseTimestamp(delivery.created_at)?.getTime() ?? 0) > QUEUED_THRESHOLD_MS;
    if (isQueued) {
      return (
        <TimelineStep tone="info" title="Queued">
          <a href={hrefTo('hooks', delivery.hook_id)}>This webhook</a> is failing or disabled. A 200 response, or
          enabling it, releases the queue.
        </TimelineStep>
      );
    }
    return (
      <TimelineStep tone="info" title={delivery.attempts === '0' ? 'On its way' : 'Retried after the wait'}>
        It stays pending until the target answers 200, or the webhook ends.
      </TimelineStep>
    );
  }
  if (delivery.state === 'undelivered') {
    return (
      <TimelineStep tone="bad" title="Undelivered" timestamp={delivery.date_finalized}>
        The webhook ended first. <a href={hrefTo('hooks', delivery.hook_id)}>Restore it</a> to send this.
      </TimelineStep>
    );
  }
  if (receiptStatusOf(delivery) === 'never read') {
    return (
      <TimelineStep tone="warn" title="Delivered, not fetched">
        {NEVER_READ_TEXT}
      </TimelineStep>
    );
  }
  if (receiptStatusOf(delivery) === 'not delivered') return null;
  const fetchDelayMs =
    (parseTimestamp(delivery.fetched_at)?.getTime() ?? 0) - (parseTimestamp(delivery.created_at)?.getTime() ?? 0);
  return (
    <TimelineStep tone="good" title="Fetched" timestamp={delivery.fetched_at}>
      {fetchDelayMs < 1_000 ? 'Within a second of' : `${formatDuration(fetchDelayMs)} after`} becoming pending, by an
      API key of the webhook’s owner.
    </TimelineStep>
  );
}

type TimelineStepProps = {
  readonly tone: Tone;
  readonly title: string;
  readonly timestamp?: string;
  /** Content below the text. */
  readonly below?: ComponentChildren;
  readonly children: ComponentChildren;
};

function TimelineStep({ tone, title, timestamp, below, children }: TimelineStepProps) {
  return (
    <li class={`step ${tone}`}>
      <strong>{title}</strong>
      {timestamp !== undefined && (
        <span class="small soft">
          {' '}
          <ClockTime timestamp={timestamp} />
        </span>
      )}
      <p class="small soft">{children}</p>
      {below}
    </li>
  );
}

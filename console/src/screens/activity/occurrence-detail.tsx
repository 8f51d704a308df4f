import type { ComponentChildren } from 'preact';
import type { DeliveryDetail, HookDelivery, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import { kinds } from '../../../../packages/sdk/src/api-types.ts';
import { client } from '../../app/client.ts';
import { hrefTo, type RecordProps } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { usePolling, useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note, type Tone } from '../../components/badge.tsx';
import { Page } from '../../components/page.tsx';
import { ClockTime, durationText, parseTimestamp } from '../../components/timestamp.tsx';
import { NEVER_READ, Notification, readStatusOf, sentence, Target } from '../../delivery/delivery-badges.tsx';
import { counted, kindTitle, outcomeAdvice, outcomeWords, pathOf } from '../../delivery/delivery-text.ts';
import './activity.css';
import { cursorAfter, pollUrgency } from './feed-store.ts';

const FAST_POLL_INTERVAL_MS = 1_000;
const SLOW_POLL_INTERVAL_MS = 5_000;

/**
 * A delivery that is pending for longer than this without an attempt is queued behind an earlier delivery of a
 * failing hook.
 */
const QUEUED_AFTER_MS = 20_000;

/** Maximum number of deliveries whose attempts are loaded; an occurrence may have thousands of deliveries. */
const MAX_HOOKS = 20;

type OccurrenceWithAttempts = {
  readonly occurrence: Occurrence;
  readonly details: ReadonlyMap<string, DeliveryDetail>;
};

const isCursor = (text: string) => /^\d{1,15}$/.test(text);

async function load(cursor: string, signal: AbortSignal): Promise<OccurrenceWithAttempts | undefined> {
  if (!isCursor(cursor)) return undefined;
  const scope = isAdmin() ? 'account' : 'own';
  const { data } = await client.activity.list({ before: cursorAfter(cursor), limit: 1, scope }, { signal });
  const occurrence = data.find((one) => one.cursor === cursor);
  if (occurrence === undefined) return undefined;
  const details = await Promise.all(
    occurrence.deliveries.slice(0, MAX_HOOKS).map(({ id }) => client.deliveries.get(id, { signal })),
  );
  return { occurrence, details: new Map(details.map((detail) => [detail.id, detail])) };
}

/** Page with the timeline of one occurrence: commit, attempts, delivery and read receipt. */
export default function OneOccurrence({ id: cursor }: RecordProps) {
  const { data, fault, isLoading, reload } = useQuery((signal) => load(cursor, signal), [cursor]);
  const urgency = data === undefined ? 'never' : pollUrgency(data.occurrence, Date.now());
  usePolling({ soon: FAST_POLL_INTERVAL_MS, later: SLOW_POLL_INTERVAL_MS, never: undefined }[urgency], reload);
  const path = data === undefined ? '' : pathOf(data.occurrence.resource_url);
  return (
    <Page
      title={data === undefined ? 'One occurrence' : `${kindTitle(data.occurrence.kind)} ${path}`}
      lead={<a href={hrefTo('activity')}>All activity</a>}
      calls={callsFor(cursor, data)}
    >
      {fault !== undefined && <Note tone="bad">{fault}</Note>}
      {data === undefined && isLoading && <LoadingSkeleton />}
      {data === undefined && !isLoading && fault === undefined && (
        <Note>
          There is nothing at this place of the feed: it may be somebody else’s, or older than 90 days.{' '}
          <a href={hrefTo('activity')}>See what happens now</a>.
        </Note>
      )}
      {data !== undefined && <TimeLine {...data} />}
    </Page>
  );
}

function callsFor(cursor: string, data: OccurrenceWithAttempts | undefined) {
  if (!isCursor(cursor)) return [];
  const after = Math.max(0, Number(cursor) - 1);
  const path = data === undefined ? undefined : pathOf(data.occurrence.resource_url);
  const [resource = '', id = ''] = (path ?? '').split('/').slice(1);
  return [
    {
      description: 'Its entry in the feed',
      method: 'GET',
      path: `/notifications?after=${after}&limit=1`,
      sdk: `notifications.list({ after: '${after}', limit: 1 })`,
    },
    ...(path === undefined
      ? []
      : [
          {
            description: 'The record',
            method: 'GET',
            path,
            sdk: `${resource.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())}.get('${id}')`,
          } as const,
        ]),
    ...[...(data?.details.keys() ?? [])].map(
      (one) =>
        ({
          description: `Delivery ${one} with its attempts`,
          method: 'GET',
          path: `/deliveries/${one}`,
          sdk: `deliveries.get('${one}')`,
        }) as const,
    ),
  ] as const;
}

function TimeLine({ occurrence, details }: OccurrenceWithAttempts) {
  const { deliveries } = occurrence;
  const isForHooks = kinds.some((one) => one === occurrence.kind);
  const beyond = deliveries.length - MAX_HOOKS;
  return (
    <>
      <ol class="card padded time-line">
        <Step tone="good" title="Committed" at={occurrence.occurred_at}>
          The record and this occurrence were written in one transaction, at place {occurrence.cursor} of the feed.
        </Step>
        {deliveries.length === 0 ? (
          <Step tone="plain" title="Pending to no hook">
            {isForHooks
              ? 'Whoever did this had no live hook of this kind at that moment. It stays in the feed.'
              : 'No hook can name this kind. It is in the feed, for those who keep a copy.'}
          </Step>
        ) : (
          <Step tone="good" title={`Pending to ${counted(deliveries.length, 'hook')}`} at={deliveries[0]?.created_at}>
            Written down with the record: told through any crash, or seen here as undelivered.
          </Step>
        )}
      </ol>
      {deliveries.slice(0, MAX_HOOKS).map((delivery) => (
        <DeliveryTimeline key={delivery.id} delivery={delivery} detail={details.get(delivery.id)} />
      ))}
      {beyond > 0 && <p class="soft">{counted(beyond, 'more hook')} are told by the list of deliveries.</p>}
    </>
  );
}

function DeliveryTimeline({
  delivery,
  detail,
}: {
  readonly delivery: HookDelivery;
  readonly detail: DeliveryDetail | undefined;
}) {
  return (
    <section class="card padded stack" aria-label={`Hook ${delivery.hook_id}`}>
      <div class="row">
        <h2>
          <a href={hrefTo('hooks', delivery.hook_id)}>Hook {delivery.hook_id}</a>
        </h2>
        {delivery.target_url !== '' && <Target url={delivery.target_url} />}
      </div>
      <ol class="time-line">
        {detail?.attempts.map((one, index) => (
          <Step
            key={index}
            tone={one.outcome === '200' ? 'good' : one.counted === '1' ? 'bad' : 'plain'}
            title={`${sentence(outcomeWords(one.outcome))} after ${durationText(Number(one.milliseconds))}`}
            at={one.attempted_at}
          >
            {sentence(one.reason)}.{' '}
            {one.outcome !== '200' && index === detail.attempts.length - 1 && outcomeAdvice(one.outcome)}
          </Step>
        ))}
        <Last delivery={delivery} />
      </ol>
      {detail !== undefined && (
        <details>
          <summary>The notification as it went out, and what fetches its record</summary>
          <Notification delivery={detail} target={delivery.target_url} />
        </details>
      )}
    </section>
  );
}

/** Last step of the timeline: the current state of a delivery. */
function Last({ delivery }: { readonly delivery: HookDelivery }) {
  if (delivery.state === 'pending') {
    const isWaiting =
      delivery.attempts === '0' && Date.now() - (parseTimestamp(delivery.created_at)?.getTime() ?? 0) > QUEUED_AFTER_MS;
    if (isWaiting) {
      return (
        <Step tone="info" title="Waits its turn">
          Something before it is pending for <a href={hrefTo('hooks', delivery.hook_id)}>this hook</a>, which is
          failing. Once that is answered with 200, this is sent at once.
        </Step>
      );
    }
    return (
      <Step tone="info" title={delivery.attempts === '0' ? 'On its way' : 'Tried again after the wait'}>
        It stays pending until it is answered with 200, or its hook ends.
      </Step>
    );
  }
  if (delivery.state === 'undelivered') {
    return (
      <Step tone="bad" title="Undelivered" at={delivery.date_finalized}>
        Its hook ended first. <a href={hrefTo('hooks', delivery.hook_id)}>Restore the hook</a> to send it.
      </Step>
    );
  }
  if (readStatusOf(delivery) === 'never read') {
    return (
      <Step tone="warn" title="Told, never read">
        {NEVER_READ}
      </Step>
    );
  }
  if (readStatusOf(delivery) === 'not delivered') return null;
  const since =
    (parseTimestamp(delivery.fetched_at)?.getTime() ?? 0) - (parseTimestamp(delivery.created_at)?.getTime() ?? 0);
  return (
    <Step tone="good" title="Fetched" at={delivery.fetched_at}>
      {since < 1_000 ? 'Within a second of' : `${durationText(since)} after`} becoming pending, by a key of the hook’s
      user.
    </Step>
  );
}

type StepProps = {
  readonly tone: Tone;
  readonly title: string;
  readonly at?: string;
  readonly children: ComponentChildren;
};

function Step({ tone, title, at, children }: StepProps) {
  return (
    <li class={`step ${tone}`}>
      <strong>{title}</strong>
      {at !== undefined && (
        <span class="small soft">
          {' '}
          <ClockTime at={at} />
        </span>
      )}
      <p class="small soft">{children}</p>
    </li>
  );
}

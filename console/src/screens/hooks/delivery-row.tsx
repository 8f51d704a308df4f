import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { Attempt, Delivery, DeliveryDetail } from '../../../../packages/sdk/src/activity.ts';
import { client } from '../../app/client.ts';
import { hrefTo } from '../../app/router.ts';
import { runWithToast, useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { ClockTime, formatDuration } from '../../components/timestamp.tsx';
import {
  capitalize,
  DeliveryStateBadge,
  ReadReceipt,
  ResponseText,
  WebhookRequest,
} from '../../delivery/delivery-badges.tsx';
import {
  describeOutcome,
  formatKindTitle,
  getOutcomeAdvice,
  recordPathOf,
  type ShownHookState,
} from '../../delivery/delivery-text.ts';
import { type DeliveryWithOccurrence, showAttemptOutcome } from './delivery-history.ts';

type DeliveryRowProps = {
  readonly delivery: Delivery;
  /** The same delivery with its read receipt and occurrence; undefined for a test, or if it is too old to be loaded. */
  readonly deliveryWithOccurrence: DeliveryWithOccurrence | undefined;
  readonly hookState: ShownHookState;
  readonly targetUrl: string;
  readonly onRedelivered: () => void;
};

/** Row of one delivery of a hook. It expands to the attempts and the request. */
export function DeliveryRow(props: DeliveryRowProps) {
  const { delivery, deliveryWithOccurrence } = props;
  const [isExpanded, setExpanded] = useState(false);
  return (
    <li>
      <button type="button" class="line unfold" aria-expanded={isExpanded} onClick={() => setExpanded(!isExpanded)}>
        <Icon name="chevron" />
        <span class="when small soft">
          <ClockTime timestamp={delivery.date_created} />
        </span>
        <span class="what">
          {formatKindTitle(delivery.event)} <code class="soft">{recordPathOf(delivery.resource_url)}</code>
        </span>
        <span class="row how">
          <DeliveryStateBadge state={delivery.state} />
          {deliveryWithOccurrence !== undefined && <ReadReceipt delivery={deliveryWithOccurrence.delivery} />}
          <span class="small soft">
            {!['', '200'].includes(delivery.last_outcome) && describeOutcome(delivery.last_outcome)}
          </span>
        </span>
      </button>
      {isExpanded && <DeliveryDetails {...props} />}
    </li>
  );
}

function DeliveryDetails({ delivery, deliveryWithOccurrence, hookState, targetUrl, onRedelivered }: DeliveryRowProps) {
  const { data, errorText, reload } = useQuery(
    (signal) => client.deliveries.get(delivery.id, { signal }),
    [delivery.id, delivery.state, delivery.last_outcome],
  );
  const [isSending, setSending] = useState(false);
  const redeliver = async (previousAttemptCount: number) => {
    setSending(true);
    await runWithToast(async () => {
      await client.deliveries.redeliver(delivery.id);
      await showAttemptOutcome('Sent again', delivery.id, previousAttemptCount);
    });
    setSending(false);
    reload();
    onRedelivered();
  };
  if (errorText !== undefined) return <Note tone="bad">{errorText}</Note>;
  if (data === undefined) return <LoadingSkeleton lineCount={2} />;
  const advice = getOutcomeAdvice(data.last_outcome);
  const cannotSend = hookState === 'ended' || hookState === 'disabled';
  return (
    <div class="unfolded stack">
      <AttemptTable delivery={data} />
      {advice !== undefined && <Note tone="warn">{advice}</Note>}
      <div class="row">
        <Button icon="repeat" disabled={cannotSend || isSending} onClick={() => redeliver(data.attempts.length)}>
          {isSending ? 'Sending…' : 'Send again'}
        </Button>
        {deliveryWithOccurrence !== undefined && (
          <ButtonLink
            variant="quiet"
            icon="activity"
            href={hrefTo('activity', deliveryWithOccurrence.occurrence.cursor)}
          >
            View timeline
          </ButtonLink>
        )}
        {cannotSend && (
          <span class="small soft">
            {hookState === 'ended'
              ? 'The webhook has ended. Restore it first.'
              : 'The webhook is disabled. Enable it first.'}
          </span>
        )}
      </div>
      <WebhookRequest delivery={data} targetUrl={targetUrl} />
    </div>
  );
}

/** Table of the attempts of a delivery: outcome, whether it counts as a failure of the hook, and the reason. */
function AttemptTable({ delivery }: { readonly delivery: DeliveryDetail }) {
  if (delivery.attempts.length === 0) return <p class="soft">Nothing has been sent yet.</p>;
  return (
    <table class="table attempts">
      <thead>
        <tr>
          <th>Attempt</th>
          <th>Outcome</th>
          <th class="end">Took</th>
          <th>Counts toward limit</th>
          <th>Reason</th>
        </tr>
      </thead>
      <tbody>
        {delivery.attempts.map((attempt, index) => (
          <Fragment key={index}>
            <tr>
              <td>
                <ClockTime timestamp={attempt.attempted_at} />
              </td>
              <td>{capitalize(describeOutcome(attempt.outcome))}</td>
              <td class="end number">{formatDuration(Number(attempt.milliseconds))}</td>
              <td>{formatCounted(attempt)}</td>
              <td class="soft">{capitalize(attempt.reason)}</td>
            </tr>
            {attempt.response !== '' && (
              <tr class="answer">
                <td colSpan={5}>
                  <ResponseText text={attempt.response} label={`Response to attempt ${index + 1}`} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

/** Returns whether an attempt counts as a failure of the hook, as text; empty for a success. */
function formatCounted({ outcome, counted }: Attempt): string {
  if (outcome === '200') return '';
  return counted === '1' ? 'counted' : 'not counted';
}

import type { Delivery } from '../../../packages/sdk/src/activity.ts';
import { Code, curlOf } from '../components/api-call.tsx';
import { bodyOf, cutTarget, pathOf } from './delivery-text.ts';
import './delivery.css';

/** The webhook request as sent, and the API call that fetches the record. */
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

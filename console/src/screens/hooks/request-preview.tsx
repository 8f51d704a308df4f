import { apiAccount } from '../../components/api-call.tsx';
import { buildWebhookBody, type EventTypes, eventTypeGroups, hostOf } from '../../delivery/delivery-text.ts';

/** Preview of the webhook request, with instructions for the receiver. */
export function RequestPreview({
  eventTypes,
  targetUrl,
}: {
  readonly eventTypes: EventTypes;
  readonly targetUrl: string;
}) {
  const eventType = eventTypes.find((one) => one !== '*') ?? 'new_event';
  const group = eventTypeGroups.find((one) => one.eventTypes.includes(eventType));
  const path = URL.canParse(targetUrl) ? new URL(targetUrl).pathname : '/carillon/…';
  return (
    <aside class="card padded stack" aria-label="What is sent">
      <h2>What is sent</h2>
      <pre class="code">
        {[
          `POST ${path}`,
          `host: ${targetUrl === '' ? 'your-application.example' : hostOf(targetUrl)}`,
          'content-type: application/json',
          'webhook-id: 4711',
          `webhook-event: ${eventType}`,
          'webhook-cursor: 1808',
          ...(eventType.startsWith('changed_') ? ['webhook-fields: (names of the changed fields)'] : []),
          '',
          buildWebhookBody(`${apiAccount.baseUrl}/v2${group?.examplePath}`),
        ].join('\n')}
      </pre>
      <ol class="hook-steps small">
        <li>
          Respond <strong>200</strong> immediately; anything else is a failure.
        </li>
        <li>
          Then read the <code>resource_url</code> with your own API key. A notification contains no data, so a forged
          one reveals nothing.
        </li>
        <li>
          <strong>401</strong> ends the webhook. After any other response the notification is retried twice, by default
          after a minute and after two hours. The third failure in a row ends the webhook; <em>Restore</em> sends what
          it missed.
        </li>
        <li>
          The same <code>webhook-id</code> may arrive twice: ignore the ones that you have processed.
        </li>
      </ol>
    </aside>
  );
}

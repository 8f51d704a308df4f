import { hookKinds, permissionFor, resourceTypeOf, resourceTypes } from '../delivery/outbox/event-kinds.ts';
import { type Html, html } from './html.ts';
import { table } from './operation.ts';

/** A chapter of the page that applies to all routes. */
export type Chapter = { readonly id: string; readonly title: string; readonly text: Html };

/** The introduction for developers who connect an application. */
export function guide(baseUrl: string): readonly Chapter[] {
  return [
    { id: 'calling', title: 'Calling', text: calling(baseUrl) },
    { id: 'being-told', title: 'Receiving notifications', text: receivingNotifications(baseUrl) },
    { id: 'missing-nothing', title: 'Catching up', text: catchingUp(baseUrl) },
    { id: 'lists-and-dates', title: 'Lists, dates, errors', text: listsAndDates() },
    { id: 'once', title: 'Safe retries and conditional requests', text: safeRetries(baseUrl) },
  ];
}

const calling = (baseUrl: string) => html`
<p>Every call under <code>/v2</code> carries two headers: <code>key</code>, an API key, and <code>domain</code>, the account it
belongs to. The first start of the service prints both; the console issues more. JSON in, JSON out, UTF-8.</p>
<pre><code>export CARILLON_DOMAIN=… CARILLON_KEY=…
curl '${baseUrl}/v2/user' -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"</code></pre>
<p>The same with the SDK, which the examples below use:</p>
<pre><code>import { apiKey, Carillon } from '@carillon/sdk';
const { CARILLON_DOMAIN: domain, CARILLON_KEY: key } = process.env;
const carillon = new Carillon({ baseUrl: '${baseUrl}', auth: apiKey({ domain, key }) });</code></pre>
<p>A record is returned as <code>{ "data": { … } }</code>: created with 201 and its <code>Location</code>, changed with 200, deleted
with 200 and <code>[]</code>. Unknown fields are ignored, so a record can be sent back as it was read.</p>`;

const receivingNotifications = (baseUrl: string) => html`
<p>A hook subscribes one target to one kind. When something of this kind happens, the service POSTs the URL of the record to the
target, and the target fetches the record with a key:</p>
<pre><code>{"resource_url":"${baseUrl}/v2/events/1"}</code></pre>
${table(
  ['Kind', 'Record', 'Permission of the key that creates the hook'],
  hookKinds.map((kind) => [
    html`<code>${kind}</code>`,
    html`<code>/v2${resourceTypes[resourceTypeOf(kind)].collection}/…</code>`,
    html`<code>${permissionFor(kind)}</code>`,
  ]),
)}
<p>The status of the response decides. <b>200</b>: delivered. <b>401</b>: the hook ends immediately. Any other status, or a timeout, is a failure:
the service retries after a delay, and the third failure in a row ends the hook. An ended hook stays readable with its
reason, and <a href="#post-hooks-hook_id-restore">restore</a> revives it and delivers everything it missed. Each attempt carries the
delivery's id as <code>Webhook-Id</code>. Delivery is at least once: after a crash, a delivery may be repeated with the same id.</p>
<p>A change notifies the hooks of the user who made it. Make the target URL hard to guess, fetch only URLs that
begin with <code>${baseUrl}/v2/</code>, and respond 200 only when the work is stored safely.</p>`;

const catchingUp = (baseUrl: string) => html`
<p>The <a href="#notifications">feed</a> contains everything that was or could not be delivered in the last 90 days, in order and without gaps. Store the cursor of the
last entry that you have processed, and continue after it at any time. <code>wait=30</code> waits for new entries, <code>Accept: text/event-stream</code> streams them.</p>
<pre><code>curl '${baseUrl}/v2/notifications?wait=0' \\
  -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"</code></pre>`;

const listsAndDates = () => html`
<p>A list is <code>{ "paging": { "offset", "limit", "total_records" }, "data": […] }</code>. A page has at most 1000 records and 8 MiB (a page that is cut short returns its actual <code>limit</code>), in a stable
order, with <code>Link: rel="next"</code> while there is more: follow it to miss nothing while records are added and removed. Values are strings (<code>hours</code>, <code>minutes</code> and <code>billed</code> of a time entry are numbers), flags <code>"0"</code> and <code>"1"</code>; ids are strings of digits.</p>
<p>A day is written <code>yyyymmdd</code>; start and due dates also in the output form, <code>YYYY-MM-DD HH:MM:SS</code>, where 00:00:00 means all day. They
have no time zone and are never converted. Timestamps that the service writes are UTC; <code>0000-00-00 00:00:00</code> means never.</p>
<p>An error is <code>application/problem+json</code> with a stable <code>code</code> and, for invalid fields, <code>errors</code> with one entry for each:
see <a href="#problems">problems</a>.</p>`;

const safeRetries = (baseUrl: string) => html`
<p>A POST with an <code>Idempotency-Key</code> runs once, even if it is repeated within a day. A single record has an <code>ETag</code>: sent back
as <code>If-Match</code>, a change is rejected with 412 if the record was changed in the meantime; as <code>If-None-Match</code>, a read
returns 304 if the record is unchanged.</p>
<pre><code>curl -X POST '${baseUrl}/v2/clients' \\
  -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY" -H 'idempotency-key: import-7-row-12' \\
  -H 'content-type: application/json' -d '{"client_name":"Launch"}'</code></pre>`;

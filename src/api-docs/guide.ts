import { hookKinds, permissionFor, resourceTypeOf, resourceTypes } from '../delivery/outbox/event-kinds.ts';
import { type Html, html } from './html.ts';
import { table } from './operation.ts';

/** A chapter of the page: what holds of all routes. */
export type Chapter = { readonly id: string; readonly title: string; readonly text: Html };

/** What whoever connects an application has to know before the first call. */
export function guide(baseUrl: string): readonly Chapter[] {
  return [
    { id: 'calling', title: 'Calling', text: calling(baseUrl) },
    { id: 'being-told', title: 'Being told', text: beingTold(baseUrl) },
    { id: 'missing-nothing', title: 'Missing nothing', text: missingNothing(baseUrl) },
    { id: 'lists-and-dates', title: 'Lists, dates, errors', text: listsAndDates() },
    { id: 'once', title: 'Once, and without overwriting', text: once(baseUrl) },
  ];
}

const calling = (baseUrl: string) => html`
<p>Every call under <code>/v2</code> carries two headers: <code>key</code>, an API key, and <code>domain</code>, the account it
belongs to. The first start of the service prints both; the console issues more. JSON in, JSON out, UTF-8.</p>
<pre><code>export CARILLON_DOMAIN=… CARILLON_KEY=…
curl '${baseUrl}/v2/user' -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"</code></pre>
<p>The same with the SDK, which the examples below go on with:</p>
<pre><code>import { apiKey, Carillon } from '@carillon/sdk';
const { CARILLON_DOMAIN: domain, CARILLON_KEY: key } = process.env;
const carillon = new Carillon({ baseUrl: '${baseUrl}', auth: apiKey({ domain, key }) });</code></pre>
<p>A record is answered as <code>{ "data": { … } }</code>: created with 201 and its <code>Location</code>, changed with 200, deleted
with 200 and <code>[]</code>. Fields that are not known are ignored, so what was read can be sent back.</p>`;

const beingTold = (baseUrl: string) => html`
<p>A hook subscribes one target to one kind. When something of the kind happens, the service POSTs the address of the record to the
target, and the target fetches it with a key:</p>
<pre><code>{"resource_url":"${baseUrl}/v2/events/1"}</code></pre>
${table(
  ['Kind', 'Record', 'Permission of the key that makes the hook'],
  hookKinds.map((kind) => [
    html`<code>${kind}</code>`,
    html`<code>/v2${resourceTypes[resourceTypeOf(kind)].collection}/…</code>`,
    html`<code>${permissionFor(kind)}</code>`,
  ]),
)}
<p>What the target answers decides. <b>200</b>: delivered. <b>401</b>: the hook ends at once. Anything else, or nothing in time: a failure;
the service waits and tries the same again, and the third failure in a row ends the hook. An ended hook stays readable with its
reason, and <a href="#post-hooks-hook_id-restore">restore</a> brings it back with everything it missed. Each attempt carries the
delivery's id as <code>Webhook-Id</code>, the same every time: at least once means that a crash may repeat one.</p>
<p>The hooks of the user who caused something are told of it. Make the address hard to guess, follow no other address than those that
begin with <code>${baseUrl}/v2/</code>, and answer 200 only once the work is safe.</p>`;

const missingNothing = (baseUrl: string) => html`
<p>Whatever was told, or could not be, is in the <a href="#notifications">feed</a> for 90 days, in order and without a gap. Keep the cursor of what
you have dealt with; after any time away, go on behind it. <code>wait=30</code> waits for news, <code>Accept: text/event-stream</code> streams.</p>
<pre><code>curl '${baseUrl}/v2/notifications?wait=0' \\
  -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"</code></pre>`;

const listsAndDates = () => html`
<p>A list is <code>{ "paging": { "offset", "limit", "total_records" }, "data": […] }</code>; at most 1000 records and 8 MiB at once (a page that ends early has fewer records than the limit asked for, and says so), in an order that does not
change, with <code>Link: rel="next"</code> while there is more: follow it, and whatever comes and goes meanwhile hides nothing. Values are strings (<code>hours</code>, <code>minutes</code> and <code>billed</code> of a time entry are numbers), flags <code>"0"</code> and <code>"1"</code>; ids are strings of digits.</p>
<p>A day is given as <code>yyyymmdd</code>; start and due dates also as they are read, <code>YYYY-MM-DD HH:MM:SS</code>, where 00:00:00 means all day. They
have no zone and are never converted. Moments that the service writes are UTC; <code>0000-00-00 00:00:00</code> is never.</p>
<p>What goes wrong is <code>application/problem+json</code> with a stable <code>code</code> and, for bad fields, <code>errors</code> that name each of them:
see <a href="#problems">problems</a>.</p>`;

const once = (baseUrl: string) => html`
<p>A POST with an <code>Idempotency-Key</code> is made once, however often it is sent within a day. A single record has an <code>ETag</code>: sent back
as <code>If-Match</code>, a change of what somebody else has changed meanwhile is refused with 412; as <code>If-None-Match</code>, a read of what is known
already answers 304.</p>
<pre><code>curl -X POST '${baseUrl}/v2/clients' \\
  -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY" -H 'idempotency-key: import-7-row-12' \\
  -H 'content-type: application/json' -d '{"client_name":"Launch"}'</code></pre>`;

import { hash } from 'node:crypto';
import { hookKinds, permissionFor, resourceTypeOf, resourceTypes } from '../delivery/outbox/event-kinds.ts';
import { problemCodesOf, type Route } from '../http/routes/route.ts';
import { StaticResponse } from '../http/static/console-files.ts';
import { type ProblemCode, problems } from '../problems.ts';
import { Html, html } from './html.ts';
import { anchorOf, renderOperation, renderTable } from './operation.ts';
import { groupByResource } from './schema-shape.ts';

/** A chapter of `/docs` that applies to all routes. */
type Chapter = { readonly id: string; readonly title: string; readonly content: Html };

/** The chapters for developers who connect an application. */
function createGuideChapters(baseUrl: string): readonly Chapter[] {
  return [
    { id: 'calling', title: 'Calling', content: renderCallingText(baseUrl) },
    { id: 'receiving-webhooks', title: 'Receiving notifications', content: renderWebhooksText(baseUrl) },
    { id: 'missing-nothing', title: 'Catching up', content: renderCatchingUpText(baseUrl) },
    { id: 'lists-and-dates', title: 'Lists, dates, errors', content: renderListsAndDatesText() },
    { id: 'once', title: 'Safe retries and conditional requests', content: renderSafeRetriesText(baseUrl) },
  ];
}

const renderCallingText = (baseUrl: string) => html`
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

const renderWebhooksText = (baseUrl: string) => html`
<p>A hook subscribes one target to one or more kinds (<code>event</code>, <code>events</code>). When something of these kinds happens, the service POSTs the URL of the record to the
target, and the target fetches the record with a key:</p>
<pre><code>{"resource_url":"${baseUrl}/v2/events/1"}</code></pre>
${renderTable(
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
<p>A change notifies the hooks of the user who made it, the hooks with scope <code>project</code> of its project, and those with scope <code>account</code>. Make the target URL hard to guess, fetch only URLs that
begin with <code>${baseUrl}/v2/</code>, and respond 200 only when the work is stored safely.</p>`;

const renderCatchingUpText = (baseUrl: string) => html`
<p>The <a href="#notifications">feed</a> contains everything that was or could not be delivered in the last 90 days, in order and without gaps. Store the cursor of the
last entry that you have processed, and continue after it at any time. <code>wait=30</code> waits for new entries, <code>Accept: text/event-stream</code> streams them.</p>
<pre><code>curl '${baseUrl}/v2/notifications?wait=0' \\
  -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"</code></pre>`;

const renderListsAndDatesText = () => html`
<p>A list is <code>{ "paging": { "offset", "limit", "total_records" }, "data": […] }</code>. A page has at most 1000 records and 8 MiB (a page that is cut short returns its actual <code>limit</code>), in a stable
order, with <code>Link: rel="next"</code> while there is more: follow it to miss nothing while records are added and removed. Values are strings (<code>hours</code>, <code>minutes</code> and <code>billed</code> of a time entry are numbers), flags <code>"0"</code> and <code>"1"</code>; ids are strings of digits.</p>
<p>A day is written <code>yyyymmdd</code>; start and due dates also in the output form, <code>YYYY-MM-DD HH:MM:SS</code>, where 00:00:00 means all day. They
have no time zone and are never converted. Timestamps that the service writes are UTC; <code>0000-00-00 00:00:00</code> means never.</p>
<p>An error is <code>application/problem+json</code> with a stable <code>code</code> and, for invalid fields, <code>errors</code> with one entry for each:
see <a href="#problems">problems</a>.</p>`;

const renderSafeRetriesText = (baseUrl: string) => html`
<p>A POST with an <code>Idempotency-Key</code> runs once, even if it is repeated within a day. A single record has an <code>ETag</code>: sent back
as <code>If-Match</code>, a change is rejected with 412 if the record was changed in the meantime; as <code>If-None-Match</code>, a read
returns 304 if the record is unchanged.</p>
<pre><code>curl -X POST '${baseUrl}/v2/clients' \\
  -H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY" -H 'idempotency-key: import-7-row-12' \\
  -H 'content-type: application/json' -d '{"client_name":"Launch"}'</code></pre>`;

export type DocumentedApi = { readonly routes: readonly Route[]; readonly baseUrl: string; readonly version: string };

/**
 * Creates the page `/docs` with every route, parameter, field and problem, derived from the routes (X6). The page has
 * no scripts or external resources. The CSP directive `sandbox` gives it an opaque origin, so that injected content
 * could not use the console's session.
 */
export function createDocsPage(documentedApi: DocumentedApi): StaticResponse {
  const contentSecurityPolicy = [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', stylesheet, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    'sandbox',
  ];
  return new StaticResponse(Buffer.from(renderPage(documentedApi)), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
}

function renderPage({ routes, baseUrl, version }: DocumentedApi): string {
  const commonProblemCodes = findCommonProblemCodes(routes);
  const routesByResource = [...groupByResource(routes)];
  const chapters = createGuideChapters(baseUrl);
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Carillon API</title>
<style>${new Html(stylesheet)}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<nav aria-label="Contents">
<ul>
<li><a href="/">The console</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/llms.txt">For language models</a></li>
</ul>
<ul>
${chapters.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
<li><a href="#problems">Problems</a></li>
</ul>
${routesByResource.map(([resourceType, resourceRoutes]) => renderContentsEntry(resourceType, resourceRoutes))}
</nav>
<main id="content">
<h1>Carillon API</h1>
<p class="soft">Version ${version}, at <code>${baseUrl}</code>. This page is generated from the running service.</p>
${chapters.map(({ id, title, content }) => html`<h2 id="${id}">${title}</h2>${content}`)}
${routesByResource.map(([resourceType, resourceRoutes]) => html`<h2 id="${resourceType}">${resourceType}</h2>${resourceRoutes.map((route) => renderOperation(route, baseUrl, commonProblemCodes))}`)}
<h2 id="problems">Problems</h2>
<p>Every call can return ${[...commonProblemCodes].map((code) => html` <a href="#problem-${code}">${problems[code].status} ${code}</a>`)}.</p>
${renderTable(['Code', 'Meaning'], Object.entries(problems).map(renderProblemRow))}
</main>
</body>
</html>
`;
  return text;
}

function renderContentsEntry(resourceType: string, resourceRoutes: readonly Route[]): Html {
  return html`<ul><li><a href="#${resourceType}">${resourceType}</a><ul>
${resourceRoutes.map((route) => html`<li><a href="#${anchorOf(route)}">${route.method} ${route.path}</a></li>`)}
</ul></li></ul>`;
}

function renderProblemRow([code, { status, detail }]: [string, { status: number; detail: string }]) {
  return [html`<span id="problem-${code}">${status} <code>${code}</code></span>`, detail];
}

/** Finds the problems that every route can return. The page lists them once instead of for each route. */
function findCommonProblemCodes(routes: readonly Route[]): ReadonlySet<ProblemCode> {
  const allProblemCodes = Object.keys(problems) as ProblemCode[];
  return new Set(allProblemCodes.filter((code) => routes.every((route) => problemCodesOf(route).includes(code))));
}

/** The style sheet of `/docs`: light and dark, responsive, without external resources. */
const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfaf8, #131217);
  --sunken: light-dark(#f3f1ed, #0f0e12);
  --line: light-dark(#e6e2db, #2d2b35);
  --ink: light-dark(#1d1b20, #f1eff5);
  --soft: light-dark(#57534e, #b1adbb);
  --accent: light-dark(#4338ca, #a5a0ff);
  --get: light-dark(#1f5aa8, #8dbdff);
  --post: light-dark(#14713d, #5bd08b);
  --put: light-dark(#8a4b00, #f2b45c);
  --delete: light-dark(#b3261e, #ff938a);
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0;
  color: var(--ink);
  background: var(--ground);
  font: 15px/1.55 Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem; }
nav {
  padding: 1.5rem;
  border-bottom: 1px solid var(--line);
}
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav summary { cursor: pointer; }
nav li a { display: block; padding: .1rem 0; text-decoration: none; overflow-wrap: anywhere; }
nav li li a { color: var(--soft); padding-left: .8rem; font-size: .87em; }
main { padding: 1.5rem; max-width: 60rem; min-width: 0; }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-bottom: 0; border-right: 1px solid var(--line); }
  main { padding: 2rem 3rem; }
}
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 2.2rem 0 .4rem; font-family: ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
h3 b { margin-right: .5em; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .delete { color: var(--delete); }
code, pre { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em; }
code { overflow-wrap: anywhere; }
pre { background: var(--sunken); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .92em; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
td:first-child { width: 30%; overflow-wrap: anywhere; }
details { margin: .6rem 0; }
main summary { cursor: pointer; color: var(--soft); }
`;

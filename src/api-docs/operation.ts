import { problemCodesOf, type Route, requestHeadersOf } from '../http/routes/route.ts';
import { type ProblemCode, problems } from '../problems.ts';
import { type Html, type HtmlContent, html } from './html.ts';
import {
  createExampleCall,
  describeExpectedForm,
  describeOutputForm,
  propertiesOf,
  recordPropertiesOf,
  requiredNamesOf,
  type SchemaProperties,
} from './schema-shape.ts';

/** Returns the HTML id by which links within `/docs` refer to a route. */
export function anchorOf({ method, path }: Route): string {
  return `${method}${path}`
    .toLowerCase()
    .replace(/[^a-z_]+/g, '-')
    .replace(/-$/, '');
}

/** Renders the documentation of a route: description, permission, input, output and an example call. */
export function renderOperation(route: Route, baseUrl: string, commonProblemCodes: ReadonlySet<ProblemCode>): Html {
  const { curl, sdk } = createExampleCall(route, baseUrl);
  return html`
<section id="${anchorOf(route)}">
<h3><b class="${route.method.toLowerCase()}">${route.method}</b>/v2${route.path}</h3>
<p>${route.description} <span class="soft">Permission: ${renderPermission(route)}. Returns ${route.status}.${renderRecordedKinds(route)}</span></p>
${renderInputTable('Query', renderParameterRows(route))}
${renderInputTable(
  'Headers',
  requestHeadersOf(route).map(({ name, description }) => [html`<code>${name}</code>`, description]),
)}
${renderInputTable('Body', renderBodyRows(route))}
<pre><code>${curl}</code></pre>
<pre><code>${sdk}</code></pre>
${renderOutputTable(recordPropertiesOf(route.responseSchema))}
${renderProblemLinks(route, commonProblemCodes)}
</section>`;
}

function renderPermission({ permission }: Route): HtmlContent {
  return permission === undefined ? 'any key' : html`<code>${permission}</code>`;
}

/** Renders the event kinds (occurrences) that a call of the route may record. */
function renderRecordedKinds({ recordedKinds }: Route): HtmlContent {
  if (recordedKinds.length === 0) return '';
  return html` May be notified as ${recordedKinds.map((kind, index) => html`${index > 0 ? ', ' : ''}<code>${kind}</code>`)}.`;
}

function renderParameterRows({ parameters }: Route): readonly HtmlContent[][] {
  return Object.entries(parameters).map(([name, { description, errorMessage }]) => [
    html`<code>${name}</code>`,
    html`${description} <span class="soft">${describeExpectedForm(errorMessage)}</span>`,
  ]);
}

function renderBodyRows({ bodySchema }: Route): readonly HtmlContent[][] {
  return Object.entries(propertiesOf(bodySchema)).map(([name, schema]) => [
    html`<code>${name}</code>${requiredNamesOf(bodySchema).includes(name) ? html` <b>required</b>` : ''}`,
    html`${String(schema.description ?? '')} <span class="soft">${describeExpectedForm(schema['x-must'])}</span>`,
  ]);
}

/** Renders the table of the query parameters, headers or body fields; an empty string if there are none. */
function renderInputTable(columnHeading: string, rows: readonly (readonly HtmlContent[])[]): HtmlContent {
  return rows.length === 0 ? '' : renderTable([columnHeading, 'Meaning'], rows);
}

function renderOutputTable(recordProperties: SchemaProperties): HtmlContent {
  const rows = Object.entries(recordProperties).map(([name, schema]) => [
    html`<code>${name}</code>`,
    html`${String(schema.description ?? '')} <span class="soft">${formatOutputForm(describeOutputForm(schema))}</span>`,
  ]);
  if (rows.length === 0) return '';
  return html`<details><summary>The record</summary>${renderTable(['Field', 'Meaning'], rows)}</details>`;
}

function formatOutputForm(outputForm: ReturnType<typeof describeOutputForm>): string {
  return 'words' in outputForm
    ? outputForm.words.map((word) => (word === '' ? '(empty)' : word)).join(', ')
    : outputForm.format;
}

function renderProblemLinks(route: Route, commonProblemCodes: ReadonlySet<ProblemCode>): HtmlContent {
  const specificCodes = problemCodesOf(route).filter((code) => !commonProblemCodes.has(code));
  if (specificCodes.length === 0) return '';
  const problemLinks = specificCodes.map(
    (code) => html` <a href="#problem-${code}">${problems[code].status} ${code}</a>`,
  );
  return html`<p class="soft">In addition to the problems of every call:${problemLinks}</p>`;
}

export function renderTable(headings: readonly string[], rows: readonly (readonly HtmlContent[])[]): Html {
  return html`<table>
<thead><tr>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody></table>`;
}

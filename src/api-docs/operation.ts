import { headersOf, problemsOf } from '../http/routes/openapi.ts';
import type { Route } from '../http/routes/route.ts';
import { type ProblemCode, problems } from '../problems.ts';
import { type Html, type HtmlContent, html } from './html.ts';
import {
  exampleCallOf,
  expectedForm,
  outputForm,
  propertiesOf,
  recordPropertiesOf,
  requiredNamesOf,
  type SchemaProperties,
} from './schema-shape.ts';

/** The anchor of a route on the page. */
export function anchorOf({ method, path }: Route): string {
  return `${method}${path}`
    .toLowerCase()
    .replace(/[^a-z_]+/g, '-')
    .replace(/-$/, '');
}

/** Renders the documentation of a route: description, permission, input, output and an example call. */
export function renderOperation(row: Route, baseUrl: string, common: ReadonlySet<ProblemCode>): Html {
  const { curl, sdk } = exampleCallOf(row, baseUrl);
  return html`
<section id="${anchorOf(row)}">
<h3><b class="${row.method.toLowerCase()}">${row.method}</b>/v2${row.path}</h3>
<p>${row.description} <span class="soft">Permission: ${permissionOf(row)}. Returns ${row.status}.${renderRecordedKinds(row)}</span></p>
${renderInputTable('Query', parameterRows(row))}
${renderInputTable(
  'Headers',
  headersOf(row).map(({ name, description }) => [html`<code>${name}</code>`, description]),
)}
${renderInputTable('Body', bodyRows(row))}
<pre><code>${curl}</code></pre>
<pre><code>${sdk}</code></pre>
${renderOutputTable(recordPropertiesOf(row.responseSchema))}
${renderProblemLinks(row, common)}
</section>`;
}

function permissionOf({ permission }: Route): HtmlContent {
  return permission === undefined ? 'any key' : html`<code>${permission}</code>`;
}

/** The kinds of occurrence that a call of the route may record. */
function renderRecordedKinds({ records }: Route): HtmlContent {
  if (records.length === 0) return '';
  return html` May be notified as ${records.map((kind, index) => html`${index > 0 ? ', ' : ''}<code>${kind}</code>`)}.`;
}

function parameterRows({ parameters }: Route): readonly HtmlContent[][] {
  return Object.entries(parameters).map(([name, { description, errorMessage }]) => [
    html`<code>${name}</code>`,
    html`${description} <span class="soft">${expectedForm(errorMessage)}</span>`,
  ]);
}

function bodyRows({ body }: Route): readonly HtmlContent[][] {
  return Object.entries(propertiesOf(body)).map(([name, schema]) => [
    html`<code>${name}</code>${requiredNamesOf(body).includes(name) ? html` <b>required</b>` : ''}`,
    html`${String(schema.description ?? '')} <span class="soft">${expectedForm(schema['x-must'])}</span>`,
  ]);
}

/** A table of the input in the query, the headers or the body; empty if there is none. */
function renderInputTable(where: string, rows: readonly (readonly HtmlContent[])[]): HtmlContent {
  return rows.length === 0 ? '' : renderTable([where, 'Meaning'], rows);
}

function renderOutputTable(record: SchemaProperties): HtmlContent {
  const rows = Object.entries(record).map(([name, schema]) => [
    html`<code>${name}</code>`,
    html`${String(schema.description ?? '')} <span class="soft">${outputFormText(outputForm(schema))}</span>`,
  ]);
  if (rows.length === 0) return '';
  return html`<details><summary>The record</summary>${renderTable(['Field', 'Meaning'], rows)}</details>`;
}

function outputFormText(form: ReturnType<typeof outputForm>): string {
  return 'words' in form ? form.words.map((word) => (word === '' ? '(empty)' : word)).join(', ') : form.is;
}

function renderProblemLinks(row: Route, common: ReadonlySet<ProblemCode>): HtmlContent {
  const own = problemsOf(row).filter((code) => !common.has(code));
  if (own.length === 0) return '';
  const links = own.map((code) => html` <a href="#problem-${code}">${problems[code].status} ${code}</a>`);
  return html`<p class="soft">In addition to the problems of every call:${links}</p>`;
}

export function renderTable(heads: readonly string[], rows: readonly (readonly HtmlContent[])[]): Html {
  return html`<table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody></table>`;
}

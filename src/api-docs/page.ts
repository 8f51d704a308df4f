import { hash } from 'node:crypto';
import { problemsOf } from '../http/routes/openapi.ts';
import type { Route } from '../http/routes/route.ts';
import { StaticResponse } from '../http/static/static-response.ts';
import { type ProblemCode, problems } from '../problems.ts';
import { guide } from './guide.ts';
import { Html, html } from './html.ts';
import { anchorOf, operation, table } from './operation.ts';
import { byResourceType } from './schema-shape.ts';
import { style } from './style.ts';

export type Documented = { readonly routes: readonly Route[]; readonly baseUrl: string; readonly version: string };

/**
 * `/docs` (X6): every route, parameter, field and problem, derived from the routes; one page without scripts or
 * external resources. `sandbox` gives it an opaque origin, so that injected content could not use the console's
 * session.
 */
export function docsPage(documented: Documented): StaticResponse {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    'sandbox',
  ];
  return new StaticResponse(Buffer.from(render(documented)), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
}

function render({ routes, baseUrl, version }: Documented): string {
  const common = commonProblems(routes);
  const resourceTypes = [...byResourceType(routes)];
  const chapters = guide(baseUrl);
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Carillon API</title>
<style>${new Html(style)}</style>
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
${resourceTypes.map(([resourceType, rows]) => contents(resourceType, rows))}
</nav>
<main id="content">
<h1>Carillon API</h1>
<p class="soft">Version ${version}, at <code>${baseUrl}</code>. This page is generated from the running service.</p>
${chapters.map(({ id, title, text: content }) => html`<h2 id="${id}">${title}</h2>${content}`)}
${resourceTypes.map(([resourceType, rows]) => html`<h2 id="${resourceType}">${resourceType}</h2>${rows.map((row) => operation(row, baseUrl, common))}`)}
<h2 id="problems">Problems</h2>
<p>Every call can return ${[...common].map((code) => html` <a href="#problem-${code}">${problems[code].status} ${code}</a>`)}.</p>
${table(['Code', 'Meaning'], Object.entries(problems).map(problemRow))}
</main>
</body>
</html>
`;
  return text;
}

function contents(resourceType: string, rows: readonly Route[]): Html {
  return html`<ul><li><a href="#${resourceType}">${resourceType}</a><ul>
${rows.map((row) => html`<li><a href="#${anchorOf(row)}">${row.method} ${row.path}</a></li>`)}
</ul></li></ul>`;
}

function problemRow([code, { status, detail }]: [string, { status: number; detail: string }]) {
  return [html`<span id="problem-${code}">${status} <code>${code}</code></span>`, detail];
}

/** The problems of every route, which are listed once and not for each route. */
function commonProblems(routes: readonly Route[]): ReadonlySet<ProblemCode> {
  const all = Object.keys(problems) as ProblemCode[];
  return new Set(all.filter((code) => routes.every((row) => problemsOf(row).includes(code))));
}

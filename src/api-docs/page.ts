import { hash } from 'node:crypto';
import { problemsOf } from '../http/routes/openapi.ts';
import type { Route } from '../http/routes/route.ts';
import { StaticResponse } from '../http/static/console-files.ts';
import { type ProblemCode, problems } from '../problems.ts';
import { guide } from './guide.ts';
import { Html, html } from './html.ts';
import { anchorOf, operation, table } from './operation.ts';
import { byResourceType } from './schema-shape.ts';

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

/** The style sheet of `/docs`: light and dark, responsive, without external resources. */
export const style = `
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

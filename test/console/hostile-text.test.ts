import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { printable } from '../../src/control-characters.ts';
import type { Field, Fields } from '../../src/http/fields/field.ts';
import { clientFields } from '../../src/resources/clients/clients.ts';
import { eventFields } from '../../src/resources/events/events.ts';
import { projectFields } from '../../src/resources/projects/projects.ts';
import { subtaskFields } from '../../src/resources/subtasks/subtasks.ts';
import { taskFields } from '../../src/resources/tasks/tasks.ts';
import { userFields } from '../../src/resources/users/users.ts';
import { consoleOf } from '../kit/network/browser.ts';
import { screenNames, shown, visit } from './pages.ts';

/** Init script that records executed payloads and Content-Security-Policy violations of every page. */
const OBSERVER_SCRIPT = `
  globalThis.ran = 0;
  globalThis.alert = globalThis.confirm = globalThis.prompt = () => { globalThis.ran += 1; };
  globalThis.refused = [];
  addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
    globalThis.refused.push(violatedDirective + ' ' + blockedURI);
  });
`;

/** Truncates a text without splitting surrogate pairs. */
function truncate(text: string, max: number): string {
  return [...text].slice(0, max).join('').trim();
}

/** Fills every free-text field of a resource with a text. */
function fillTextFields(fields: Fields, text: string): Readonly<Record<string, string>> {
  const isFreeText = ({ inputSchema }: Field) =>
    inputSchema['x-text'] !== undefined && inputSchema.pattern === undefined;
  const texts = Object.entries(fields).filter(([, field]) => field.mode === 'writable' && isFreeText(field));
  assert.ok(texts.length > 0);
  return Object.fromEntries(
    texts.map(([name, { inputSchema }]) => [name, truncate(text, lengthOf(inputSchema['x-text']))]),
  );
}

function lengthOf(limits: unknown): number {
  assert.ok(typeof limits === 'object' && limits !== null && 'most' in limits);
  return Number(limits.most);
}

type Observations = { readonly ran: number; readonly refused: readonly string[]; readonly overflow: number };

async function observe(page: Page): Promise<Observations> {
  return (await page.evaluate(`({
    ran: globalThis.ran,
    refused: globalThis.refused,
    overflow: Math.max(
      document.documentElement.scrollWidth - innerWidth,
      ...[...document.querySelectorAll('main, dialog')].map((one) => one.scrollWidth - one.clientWidth),
    ),
  })`)) as Observations;
}

test('no text of a record, user or key is executed, violates the policy, or overflows a page of 390 px', async (t) => {
  const { owner, page, open } = await consoleOf(t, { as: null });
  const { carillon } = owner;
  for (const [index, text] of hostileTexts.entries()) {
    const due_date = '20261120';
    const { client_id } = await carillon.clients.create({
      ...fillTextFields(clientFields, text),
      client_name: truncate(text, 255),
    });
    const { project_id } = await carillon.projects.create({
      ...fillTextFields(projectFields, text),
      project_name: truncate(text, 255),
      client_id,
    });
    await carillon.events.create({
      ...fillTextFields(eventFields, text),
      event_name: truncate(text, 255),
      start_date: '20261118',
      due_date,
      project_id,
    });
    const task = {
      ...fillTextFields(taskFields, text),
      task_name: truncate(text, 255),
      due_date,
      users: [owner.userId],
    };
    const { task_id } = await carillon.tasks.create(project_id, task);
    await carillon.subtasks.create(task_id, {
      ...fillTextFields(subtaskFields, text),
      subtask_name: truncate(text, 255),
    });
    // Labels and email addresses must not contain control characters.
    await carillon.keys.create({ label: printable(truncate(text, 255)) });
    const email = `${printable(truncate(text, 60)).replace(/[\s@]/g, '/')}${index}@acme.test`;
    await carillon.users.create({ ...fillTextFields(userFields, text), email });
    const path = encodeURIComponent(truncate(text, 60));
    await carillon.hooks.create({ target_url: `http://127.0.0.1:9/${index}/${path}?q=${path}`, event: 'new_client' });
  }
  await carillon.users.update(owner.userId, fillTextFields(userFields, hostileTexts[0] ?? ''));
  await page.close();

  const narrow = await open({ as: owner, width: 390, height: 844 });
  const dialogs: string[] = [];
  narrow.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await narrow.addInitScript(OBSERVER_SCRIPT);
  await narrow.clock.setFixedTime(Date.UTC(2026, 10, 20, 10));
  await narrow.reload();
  await shown(narrow);
  const [project, task, client, hook] = await Promise.all([
    carillon.projects.list(),
    carillon.tasks.list(),
    carillon.clients.list(),
    carillon.hooks.list(),
  ]);
  const paths = [
    ...screenNames,
    ...['day', 'week', 'list'].map((view) => `calendar?view=${view}`),
    ...project.data.slice(0, 3).map(({ project_id }) => `projects/${project_id}`),
    ...task.data.slice(0, 3).map(({ task_id }) => `tasks/${task_id}`),
    ...client.data.map(({ client_id }) => `clients/${client_id}`),
    ...hook.data.slice(0, 3).map(({ id }) => `hooks/${id}`),
    `keys?q=${encodeURIComponent(hostileTexts[0] ?? '')}`,
    `activity?kind=${encodeURIComponent(hostileTexts[0] ?? '')}`,
    encodeURIComponent(hostileTexts[0] ?? ''),
  ];
  const found: string[] = [];
  for (const path of paths) {
    await visit(narrow, path);
    const { ran, refused, overflow } = await observe(narrow);
    if (ran > 0) found.push(`${path}: a payload ran`);
    for (const what of refused) found.push(`${path}: ${what}`);
    if (overflow > 0) found.push(`${path}: ${overflow} px beyond the page`);
  }
  assert.deepEqual(found, []);
  assert.deepEqual(dialogs, []);
});

// Payloads: each increments the counter `globalThis.ran` if a page executes it. The test checks the counter on every
// page.

const RUN = 'globalThis.ran++';

/** Stored cross-site scripting payloads, and texts that break a layout. The API accepts all of them. */
const hostileTexts: readonly string[] = [
  `<script>${RUN}</script>`,
  `</title><script>${RUN}</script>`,
  `</textarea></style></script><img src=x onerror="${RUN}">`,
  `<img src=x onerror=${RUN}>`,
  `<img src="x:x" onerror='${RUN}'>`,
  `<svg onload=${RUN}>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin=${RUN} attributeName=x dur=1s>`,
  `<svg><a xlink:href="javascript:${RUN}"><text x="20" y="20">click</text></a></svg>`,
  `<math><mtext></p><img src onerror=${RUN}></mtext></math>`,
  `<iframe srcdoc="<script>parent.ran++</script>"></iframe>`,
  `<iframe src="javascript:parent.ran++"></iframe>`,
  `<object data="data:text/html,<script>parent.ran++</script>"></object>`,
  `<embed src="javascript:${RUN}">`,
  `<a href="javascript:${RUN}">a link</a>`,
  `<a href="java&#10;script:${RUN}">a link</a>`,
  `javascript:${RUN}`,
  `JaVaScRiPt:${RUN}//`,
  ` javascript:${RUN}`,
  `javascript://%0a${RUN}`,
  `data:text/html;base64,PHNjcmlwdD5wYXJlbnQucmFuKys8L3NjcmlwdD4=`,
  `vbscript:${RUN}`,
  `" onmouseover="${RUN}" autofocus onfocus="${RUN}" x="`,
  `' onmouseover='${RUN}' autofocus onfocus='${RUN}' x='`,
  `"><img src=x onerror=${RUN}>`,
  `'><svg onload=${RUN}>`,
  `\` onmouseover=${RUN} \``,
  `<input autofocus onfocus=${RUN}>`,
  `<details open ontoggle=${RUN}>`,
  `<body onload=${RUN}>`,
  `<video><source onerror=${RUN}></video>`,
  `<marquee onstart=${RUN}>`,
  `<style>@import "//evil.example/x.css"; * { display: none !important }</style>`,
  `<link rel=stylesheet href="//evil.example/x.css">`,
  `<meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
  `<base href="//evil.example/">`,
  `<form action="javascript:${RUN}"><button>send</button></form>`,
  `red; background: url("//evil.example/x"); } * { display: none } a {`,
  `expression(${RUN})`,
  `url(javascript:${RUN})`,
  `{{constructor.constructor('${RUN}')()}}`,
  `\${${RUN}}`,
  `#{${RUN}}`,
  `<%= ${RUN} %>`,
  `{"type":"div","props":{"dangerouslySetInnerHTML":{"__html":"<img src=x onerror=${RUN}>"}}}`,
  `__proto__`,
  `constructor`,
  `<!--><img src=x onerror=${RUN}>-->`,
  `<![CDATA[<img src=x onerror=${RUN}>]]>`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  `\u003cimg src=x onerror=${RUN}\u003e`,
  `＜script＞${RUN}＜/script＞`,
  `<scr<script>ipt>${RUN}</scr</script>ipt>`,
  `<IMG """><SCRIPT>${RUN}</SCRIPT>">`,
  `%3Cscript%3E${RUN}%3C/script%3E`,
  `'; ${RUN}; '`,
  `"; ${RUN}; "`,
  `\\"; ${RUN}; //`,
  `$(${'touch /tmp/x'}) \`id\` '; rm -rf x; '`,
  `\u202Egnp.exe\u202C \u2066isolated\u2069 \u200F\u200Emarks`,
  `zero\u200Bwidth\u200C\u200D\u2060\uFEFFjoined`,
  `e${'\u0301'.repeat(90)}`,
  `👩‍👩‍👧‍👦🏳️‍🌈👍🏽 ${'🔔'.repeat(60)}`,
  `${'W'.repeat(255)}`,
  `${'שלום '.repeat(40)}مرحبا`,
  `${'漢'.repeat(200)}`,
  `line one\tand\ta tab`,
  `${'a '.repeat(120)}end`,
];

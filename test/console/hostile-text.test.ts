import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { toPrintable } from '../../src/control-characters.ts';
import type { Field, Fields } from '../../src/http/fields/field.ts';
import { clientFields } from '../../src/resources/clients/clients.ts';
import { eventFields } from '../../src/resources/events/events.ts';
import { projectFields } from '../../src/resources/projects/projects.ts';
import { subtaskFields } from '../../src/resources/subtasks/subtasks.ts';
import { taskFields } from '../../src/resources/tasks/tasks.ts';
import { userFields } from '../../src/resources/users/users.ts';
import { startConsole } from '../kit/network/browser.ts';
import { openScreen, screenNames, waitUntilShown } from './pages.ts';

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
    texts.map(([name, { inputSchema }]) => [name, truncate(text, maxLengthOf(inputSchema['x-text']))]),
  );
}

function maxLengthOf(limits: unknown): number {
  assert.ok(typeof limits === 'object' && limits !== null && 'max' in limits);
  return Number(limits.max);
}

type Observations = {
  readonly executedPayloads: number;
  readonly refused: readonly string[];
  readonly overflow: number;
};

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
  const { owner, page, open } = await startConsole(t, { as: null });
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
    await carillon.keys.create({ label: toPrintable(truncate(text, 255)) });
    const email = `${toPrintable(truncate(text, 60)).replace(/[\s@]/g, '/')}${index}@acme.test`;
    await carillon.users.create({ ...fillTextFields(userFields, text), email });
    const path = encodeURIComponent(truncate(text, 60));
    await carillon.hooks.create({ target_url: `http://127.0.0.1:9/${index}/${path}?q=${path}`, event: 'new_client' });
  }
  await carillon.users.update(owner.userId, fillTextFields(userFields, hostileTexts[0] ?? ''));
  await page.close();

  const narrowPage = await open({ as: owner, width: 390, height: 844 });
  const dialogs: string[] = [];
  narrowPage.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await narrowPage.addInitScript(OBSERVER_SCRIPT);
  await narrowPage.clock.setFixedTime(Date.UTC(2026, 10, 20, 10));
  await narrowPage.reload();
  await waitUntilShown(narrowPage);
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
    await openScreen(narrowPage, path);
    const { executedPayloads, refused, overflow } = await observe(narrowPage);
    if (executedPayloads > 0) found.push(`${path}: a payload ran`);
    for (const what of refused) found.push(`${path}: ${what}`);
    if (overflow > 0) found.push(`${path}: ${overflow} px beyond the page`);
  }
  assert.deepEqual(found, []);
  assert.deepEqual(dialogs, []);
});

// Payloads: each increments the counter `globalThis.ran` if a page executes it. The test checks the counter on every
// page.

const PAYLOAD = 'globalThis.ran++';

/** Stored cross-site scripting payloads, and texts that break a layout. The API accepts all of them. */
const hostileTexts: readonly string[] = [
  `<script>${PAYLOAD}</script>`,
  `</title><script>${PAYLOAD}</script>`,
  `</textarea></style></script><img src=x onerror="${PAYLOAD}">`,
  `<img src=x onerror=${PAYLOAD}>`,
  `<img src="x:x" onerror='${PAYLOAD}'>`,
  `<svg onload=${PAYLOAD}>`,
  `<svg><script>${PAYLOAD}</script></svg>`,
  `<svg><animate onbegin=${PAYLOAD} attributeName=x dur=1s>`,
  `<svg><a xlink:href="javascript:${PAYLOAD}"><text x="20" y="20">click</text></a></svg>`,
  `<math><mtext></p><img src onerror=${PAYLOAD}></mtext></math>`,
  `<iframe srcdoc="<script>parent.ran++</script>"></iframe>`,
  `<iframe src="javascript:parent.ran++"></iframe>`,
  `<object data="data:text/html,<script>parent.ran++</script>"></object>`,
  `<embed src="javascript:${PAYLOAD}">`,
  `<a href="javascript:${PAYLOAD}">a link</a>`,
  `<a href="java&#10;script:${PAYLOAD}">a link</a>`,
  `javascript:${PAYLOAD}`,
  `JaVaScRiPt:${PAYLOAD}//`,
  ` javascript:${PAYLOAD}`,
  `javascript://%0a${PAYLOAD}`,
  `data:text/html;base64,PHNjcmlwdD5wYXJlbnQucmFuKys8L3NjcmlwdD4=`,
  `vbscript:${PAYLOAD}`,
  `" onmouseover="${PAYLOAD}" autofocus onfocus="${PAYLOAD}" x="`,
  `' onmouseover='${PAYLOAD}' autofocus onfocus='${PAYLOAD}' x='`,
  `"><img src=x onerror=${PAYLOAD}>`,
  `'><svg onload=${PAYLOAD}>`,
  `\` onmouseover=${PAYLOAD} \``,
  `<input autofocus onfocus=${PAYLOAD}>`,
  `<details open ontoggle=${PAYLOAD}>`,
  `<body onload=${PAYLOAD}>`,
  `<video><source onerror=${PAYLOAD}></video>`,
  `<marquee onstart=${PAYLOAD}>`,
  `<style>@import "//evil.example/x.css"; * { display: none !important }</style>`,
  `<link rel=stylesheet href="//evil.example/x.css">`,
  `<meta http-equiv=refresh content="0;url=javascript:${PAYLOAD}">`,
  `<base href="//evil.example/">`,
  `<form action="javascript:${PAYLOAD}"><button>send</button></form>`,
  `red; background: url("//evil.example/x"); } * { display: none } a {`,
  `expression(${PAYLOAD})`,
  `url(javascript:${PAYLOAD})`,
  `{{constructor.constructor('${PAYLOAD}')()}}`,
  `\${${PAYLOAD}}`,
  `#{${PAYLOAD}}`,
  `<%= ${PAYLOAD} %>`,
  `{"type":"div","props":{"dangerouslySetInnerHTML":{"__html":"<img src=x onerror=${PAYLOAD}>"}}}`,
  `__proto__`,
  `constructor`,
  `<!--><img src=x onerror=${PAYLOAD}>-->`,
  `<![CDATA[<img src=x onerror=${PAYLOAD}>]]>`,
  `&lt;script&gt;${PAYLOAD}&lt;/script&gt;`,
  `\u003cimg src=x onerror=${PAYLOAD}\u003e`,
  `＜script＞${PAYLOAD}＜/script＞`,
  `<scr<script>ipt>${PAYLOAD}</scr</script>ipt>`,
  `<IMG """><SCRIPT>${PAYLOAD}</SCRIPT>">`,
  `%3Cscript%3E${PAYLOAD}%3C/script%3E`,
  `'; ${PAYLOAD}; '`,
  `"; ${PAYLOAD}; "`,
  `\\"; ${PAYLOAD}; //`,
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HookAlert, renderMessage } from './message.ts';

const DAY_MS = 24 * 3_600_000;
const place = { domain: 'acme.test', baseUrl: 'https://calendar.example', endedHookRetentionMs: 30 * DAY_MS };
const hook: HookAlert = {
  alertKind: 'three_failures',
  hookId: 7,
  kind: 'new_event',
  target: 'https://user.example/secret-path?token=1',
  lastOutcome: '500',
  dueAt: null,
  endedAt: Date.UTC(2027, 0, 31, 12),
};

test('X10 a mail names the hook, the reason and how to restore it until when, as text and as HTML', () => {
  const { subject, text, html } = renderMessage([hook], place);
  assert.equal(subject, 'Hook 7 has ended (acme.test)');
  const says = [
    'It notifies https://user.example/… of new_event.',
    'It ended on 2027-01-31 12:00:00 UTC: three attempts in a row failed, the last one with 500.',
    'It can be restored until 2027-03-02: POST https://calendar.example/v2/hooks/7/restore',
    'curl -X POST https://calendar.example/v2/hooks/7/restore -H',
  ];
  for (const one of says) {
    assert.ok(text.includes(one), one);
    assert.ok(html.includes(one), one);
  }
  assert.ok(text.includes('\nhttps://calendar.example/#/hooks/7\n'));
  assert.ok(html.includes('<a href="https://calendar.example/#/hooks/7">Hook 7 in the console</a>'));
  assert.match(html, /^<!doctype html>\n<html lang="en">/);
  for (const form of [text, html]) assert.doesNotMatch(form, /secret-path|token/);
});

test('X10 hostile text is escaped and never becomes markup', () => {
  const hostile = `"><img src=x onerror=alert(1)>'&`;
  const { html } = renderMessage([{ ...hook, lastOutcome: hostile }], { ...place, domain: hostile });
  assert.ok(!html.includes('<img'));
  assert.ok(html.includes('&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&#39;&amp;'));
});

test('X10 the title counts the hooks; two hundred are listed, and the rest is counted', () => {
  const failing: HookAlert = { ...hook, alertKind: 'failing', endedAt: null, dueAt: Date.UTC(2027, 0, 31, 14) };
  const subjectOf = (hooks: readonly HookAlert[]) => renderMessage(hooks, place).subject;
  assert.equal(subjectOf([failing]), 'Hook 7 is failing (acme.test)');
  assert.equal(subjectOf([failing, hook, hook]), '2 hooks have ended, 1 hook is failing (acme.test)');
  const many = renderMessage(
    Array.from({ length: 260 }, (_, hookId) => ({ ...hook, hookId })),
    place,
  );
  assert.equal(many.text.match(/^Hook \d+ has ended$/gm)?.length, 200);
  assert.ok(many.text.includes('And 60 more, in the console:\nhttps://calendar.example/#/hooks\n'));
});

test('X10 X11 a mail about a lost role promises no restore and no missed notifications', () => {
  const lost: HookAlert = { ...hook, hookId: 8, alertKind: 'role_lost' };
  const alone = renderMessage([lost], place);
  for (const form of [alone.text, alone.html]) {
    assert.match(form, /its user is no longer an admin/);
    assert.match(form, /Only an admin can restore it, and what happens until then is never sent\./);
    assert.doesNotMatch(
      form,
      /Nothing is lost|everything that it missed|restore a hook|can be restored|\/restore|curl/,
    );
  }
  const { text } = renderMessage([lost, hook], place);
  assert.match(text, /Nothing is lost/);
  assert.match(text, /curl -X POST https:\/\/calendar\.example\/v2\/hooks\/7\/restore/);
  assert.doesNotMatch(text, /hooks\/8\/restore/);
});

test('X10 X11 a mail names all kinds of a hook, or the first ones of many', () => {
  for (const [kind, shown] of [
    ['*', 'all events'],
    ['new_task,changed_task,deleted_task', 'new_task, changed_task, deleted_task'],
    ['new_task,changed_task,deleted_task,new_event', 'new_task, changed_task and 2 more'],
  ] as const)
    assert.ok(
      renderMessage([{ ...hook, kind }], place).text.includes(`It notifies https://user.example/… of ${shown}.`),
    );
});

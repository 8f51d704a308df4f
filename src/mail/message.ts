import type { AlertKind } from '../delivery/outbox/end-hooks.ts';
import { maskTarget } from '../log.ts';

/** An alert about a hook that is failing or has ended. */
export type HookAlert = {
  readonly alertKind: AlertKind;
  readonly hookId: number;
  /** Kinds of the occurrences that the hook is notified of, separated by commas, or `*` for all. */
  readonly kind: string;
  readonly target: string;
  /** Outcome of the last attempt as text, such as `500` or `timeout`. */
  readonly lastOutcome: string;
  /** Time when a failing hook is retried, milliseconds since the epoch. */
  readonly dueAt: number | null;
  readonly endedAt: number | null;
};

/** Values for the text of a mail: the domain of the account, the address of the service, and a retention time. */
export type MailTemplateValues = {
  readonly domain: string;
  readonly baseUrl: string;
  /** How long an ended hook can be restored, milliseconds. */
  readonly endedHookRetentionMs: number;
};

/** A mail with the same content as plain text and as HTML. */
export type MailMessage = { readonly subject: string; readonly text: string; readonly html: string };

/** A part of a mail, rendered as plain text and as HTML. A `call` is a shell command that calls the API. */
type MessagePart =
  | { readonly is: 'title' | 'hook' | 'paragraph' | 'call'; readonly text: string }
  | { readonly is: 'link'; readonly text: string; readonly url: string };

/** Maximum number of hooks that a mail lists. Further hooks are only counted. */
const MAX_LISTED_HOOKS = 200;

/** Renders the mail to the owner of at least one failing or ended hook. */
export function renderMessage(hooks: readonly HookAlert[], templateValues: MailTemplateValues): MailMessage {
  const title = formatTitle(hooks);
  const parts = [
    { is: 'title', text: `${title}, at ${templateValues.domain}` } as const,
    ...renderIntroduction(hooks),
    ...hooks.slice(0, MAX_LISTED_HOOKS).flatMap((hook) => renderHookParts(hook, templateValues)),
    ...renderRemainingHooks(hooks.length - MAX_LISTED_HOOKS, templateValues),
    ...renderRestoreInstructions(hooks, templateValues),
  ];
  return {
    subject: `${title} (${templateValues.domain})`,
    text: `${parts.map(renderPartAsText).join('\n\n')}\n`,
    html: renderHtmlPage(title, parts.map(renderPartAsHtml).join('\n')),
  };
}

/** Renders a test mail. */
export function renderTestMessage(baseUrl: string): MailMessage {
  const title = 'Test mail from Carillon';
  const content = `This is a test mail from the service at ${baseUrl}. You do not have to do anything.`;
  return {
    subject: title,
    text: `${title}\n\n${content}\n`,
    html: renderHtmlPage(title, `<h1>${title}</h1>\n<p>${escapeHtml(content)}</p>`),
  };
}

const isEnded = ({ alertKind }: HookAlert) => alertKind !== 'failing';

/** Whether the owner of an ended hook may restore it, which sends what it missed. */
const isRestorable = (hook: HookAlert) => isEnded(hook) && hook.alertKind !== 'role_lost';

function formatTitle(hooks: readonly HookAlert[]): string {
  const [firstHook] = hooks;
  const endedCount = hooks.filter(isEnded).length;
  const failingCount = hooks.length - endedCount;
  if (hooks.length === 1) return `Hook ${firstHook?.hookId} ${endedCount === 1 ? 'has ended' : 'is failing'}`;
  const parts = [
    ...(endedCount === 0 ? [] : [endedCount === 1 ? '1 hook has ended' : `${endedCount} hooks have ended`]),
    ...(failingCount === 0 ? [] : [failingCount === 1 ? '1 hook is failing' : `${failingCount} hooks are failing`]),
  ];
  return parts.join(', ');
}

function renderIntroduction(hooks: readonly HookAlert[]): MessagePart[] {
  const failingText = 'A failing hook ends at its third failure in a row. Repair its receiver, and nothing is lost.';
  const endedText =
    'An ended hook receives nothing. Nothing is lost: when it is restored, it receives everything that it missed.';
  const roleLostText =
    'A hook of a former admin receives nothing more. Only an admin can restore it, and what happens until then is never sent.';
  return [
    ...(hooks.some(isRestorable) ? [{ is: 'paragraph', text: endedText } as const] : []),
    ...(hooks.some(({ alertKind }) => alertKind === 'role_lost')
      ? [{ is: 'paragraph', text: roleLostText } as const]
      : []),
    ...(hooks.every(isEnded) ? [] : [{ is: 'paragraph', text: failingText } as const]),
  ];
}

function renderHookParts(hook: HookAlert, { baseUrl, endedHookRetentionMs }: MailTemplateValues): MessagePart[] {
  const { hookId, kind, target, endedAt } = hook;
  const parts: MessagePart[] = [
    { is: 'hook', text: `Hook ${hookId} ${isEnded(hook) ? 'has ended' : 'is failing'}` },
    {
      is: 'paragraph',
      text: `It notifies ${maskTarget(target)} of ${formatKinds(kind)}. ${alertExplanations[hook.alertKind](hook)}`,
    },
    { is: 'link', text: `Hook ${hookId} in the console`, url: `${baseUrl}/#/hooks/${hookId}` },
  ];
  if (endedAt === null || !isRestorable(hook)) return parts;
  const restorableUntil = formatUtcTime(endedAt + endedHookRetentionMs).slice(0, 10);
  return [
    ...parts,
    { is: 'paragraph', text: `It can be restored until ${restorableUntil}: POST ${buildRestoreUrl(hookId, baseUrl)}` },
  ];
}

/** Number of kinds that a long list of kinds names. */
const NAMED_KINDS = 2;

/** Formats the kinds of a hook: `new_task, changed_task and 38 more`, or `all events`. */
function formatKinds(kind: string): string {
  if (kind === '*') return 'all events';
  const kinds = kind.split(',');
  if (kinds.length <= NAMED_KINDS + 1) return kinds.join(', ');
  return `${kinds.slice(0, NAMED_KINDS).join(', ')} and ${kinds.length - NAMED_KINDS} more`;
}

const explainEnd = (hook: HookAlert, reason: string) =>
  `It ended on ${formatUtcTime(hook.endedAt ?? 0)} UTC: ${reason}.`;

const alertExplanations: Readonly<Record<AlertKind, (hook: HookAlert) => string>> = {
  failing: ({ lastOutcome, dueAt }) =>
    `Two attempts in a row have failed, the last one with ${lastOutcome}. ${
      dueAt === null ? 'It will be retried soon' : `It will be retried on ${formatUtcTime(dueAt)} UTC`
    }; if that fails, the hook ends.`,
  three_failures: (hook) => explainEnd(hook, `three attempts in a row failed, the last one with ${hook.lastOutcome}`),
  answered_401: (hook) => explainEnd(hook, 'its target responded 401, which ends the subscription'),
  role_lost: (hook) => explainEnd(hook, 'its user is no longer an admin, and only hooks of admins report the account'),
  deleted: (hook) => explainEnd(hook, 'another user of the account deleted it'),
};

function renderRemainingHooks(count: number, { baseUrl }: MailTemplateValues): MessagePart[] {
  if (count <= 0) return [];
  return [{ is: 'link', text: `And ${count} more, in the console`, url: `${baseUrl}/#/hooks` }];
}

function renderRestoreInstructions(
  hooks: readonly HookAlert[],
  { baseUrl, domain }: MailTemplateValues,
): MessagePart[] {
  const firstRestorableHook = hooks.find(isRestorable);
  if (firstRestorableHook === undefined) return [];
  return [
    { is: 'paragraph', text: 'When its receiver works again, restore a hook in the console or with your API key:' },
    {
      is: 'call',
      text: `curl -X POST ${buildRestoreUrl(firstRestorableHook.hookId, baseUrl)} -H 'domain: ${domain}' -H 'key: …'`,
    },
  ];
}

const buildRestoreUrl = (hookId: number, baseUrl: string) => `${baseUrl}/v2/hooks/${hookId}/restore`;

function formatUtcTime(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ');
}

function renderPartAsText(part: MessagePart): string {
  return part.is === 'link' ? `${part.text}:\n${part.url}` : part.text;
}

function renderPartAsHtml(part: MessagePart): string {
  const text = escapeHtml(part.text);
  switch (part.is) {
    case 'title':
      return `<h1>${text}</h1>`;
    case 'hook':
      return `<h2>${text}</h2>`;
    case 'paragraph':
      return `<p>${text}</p>`;
    case 'call':
      return `<pre><code>${text}</code></pre>`;
    case 'link':
      return `<p><a href="${escapeHtml(part.url)}">${text}</a></p>`;
  }
}

function renderHtmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>
<body>
${body}
</body>
</html>
`;
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ESCAPES[character] ?? character);
}

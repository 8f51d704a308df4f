import type { What } from '../delivery/outbox/hook-alerts.ts';
import { maskTarget } from '../log.ts';

/** A hook, as a mail tells of it. */
export type HookAlert = {
  readonly what: What;
  readonly hookId: number;
  readonly kind: string;
  readonly target: string;
  readonly lastOutcome: string;
  /** When it is tried again, while it fails; milliseconds since the epoch. */
  readonly dueAt: number | null;
  readonly endedAt: number | null;
};

/** Of whose hooks, and where they are. */
export type Place = {
  readonly domain: string;
  readonly baseUrl: string;
  /** How long an ended hook can be restored, milliseconds. */
  readonly keptMs: number;
};

/** What is read: the same twice, for whoever wants it plain. */
export type Message = { readonly subject: string; readonly text: string; readonly html: string };

/** One piece of a letter. Both of its forms are made of these. */
type Piece =
  | { readonly is: 'title' | 'hook' | 'says' | 'call'; readonly text: string }
  | { readonly is: 'link'; readonly text: string; readonly url: string };

/** So many hooks are listed; how many more there are is said. */
const MAX_LISTED = 200;

/** Tells somebody of hooks of theirs; at least one. */
export function renderMessage(hooks: readonly HookAlert[], place: Place): Message {
  const title = titleOf(hooks);
  const pieces = [
    { is: 'title', text: `${title}, at ${place.domain}` } as const,
    ...introduction(hooks),
    ...hooks.slice(0, MAX_LISTED).flatMap((hook) => piecesOf(hook, place)),
    ...rest(hooks.length - MAX_LISTED, place),
    ...howToRestore(hooks, place),
  ];
  return {
    subject: `${title} (${place.domain})`,
    text: `${pieces.map(plain).join('\n\n')}\n`,
    html: page(title, pieces.map(marked).join('\n')),
  };
}

/** Says that mails arrive. */
export function testMessage(baseUrl: string): Message {
  const title = 'Mails of Carillon arrive';
  const says = `Somebody asked the service at ${baseUrl} for this mail, to see whether it arrives. Nothing is to be done.`;
  return {
    subject: title,
    text: `${title}\n\n${says}\n`,
    html: page(title, `<h1>${title}</h1>\n<p>${escaped(says)}</p>`),
  };
}

const isEnded = ({ what }: HookAlert) => what !== 'failing';

function titleOf(hooks: readonly HookAlert[]): string {
  const [first] = hooks;
  const ended = hooks.filter(isEnded).length;
  const failing = hooks.length - ended;
  if (hooks.length === 1) return `Hook ${first?.hookId} ${ended === 1 ? 'has ended' : 'is failing'}`;
  const parts = [
    ...(ended === 0 ? [] : [ended === 1 ? '1 hook has ended' : `${ended} hooks have ended`]),
    ...(failing === 0 ? [] : [failing === 1 ? '1 hook is failing' : `${failing} hooks are failing`]),
  ];
  return parts.join(', ');
}

function introduction(hooks: readonly HookAlert[]): Piece[] {
  const failing = 'A failing hook ends at its third failure in a row. Mend what receives it, and nothing is lost.';
  const ended =
    'Nothing goes out to an ended hook any more. Nothing is lost either: once it is restored, it is sent what it missed.';
  return [
    ...(hooks.some(isEnded) ? [{ is: 'says', text: ended } as const] : []),
    ...(hooks.every(isEnded) ? [] : [{ is: 'says', text: failing } as const]),
  ];
}

function piecesOf(hook: HookAlert, { baseUrl, keptMs }: Place): Piece[] {
  const { hookId, kind, target, endedAt } = hook;
  const pieces: Piece[] = [
    { is: 'hook', text: `Hook ${hookId} ${isEnded(hook) ? 'has ended' : 'is failing'}` },
    { is: 'says', text: `It tells ${maskTarget(target)} of ${kind}. ${becauseOf[hook.what](hook)}` },
    { is: 'link', text: `Hook ${hookId} in the console`, url: `${baseUrl}/#/hooks/${hookId}` },
  ];
  if (endedAt === null) return pieces;
  const until = moment(endedAt + keptMs).slice(0, 10);
  return [...pieces, { is: 'says', text: `To be restored until ${until}: POST ${restoring(hookId, baseUrl)}` }];
}

const because = (hook: HookAlert, says: string) => `It ended on ${moment(hook.endedAt ?? 0)} UTC: ${says}.`;

const becauseOf: Readonly<Record<What, (hook: HookAlert) => string>> = {
  failing: ({ lastOutcome, dueAt }) =>
    `Two attempts in a row have failed, the last one with ${lastOutcome}. ${
      dueAt === null ? 'It is tried again soon' : `It is tried again on ${moment(dueAt)} UTC`
    }; if that fails, the hook ends.`,
  three_failures: (hook) => because(hook, `three attempts in a row failed, the last one with ${hook.lastOutcome}`),
  answered_401: (hook) => because(hook, 'its target answered 401, which unsubscribes'),
  deleted: (hook) => because(hook, 'another user of the account deleted it'),
};

function rest(count: number, { baseUrl }: Place): Piece[] {
  if (count <= 0) return [];
  return [{ is: 'link', text: `And ${count} more, in the console`, url: `${baseUrl}/#/hooks` }];
}

function howToRestore(hooks: readonly HookAlert[], { baseUrl, domain }: Place): Piece[] {
  const first = hooks.find(isEnded);
  if (first === undefined) return [];
  return [
    { is: 'says', text: 'Once its receiver works, restore a hook in the console, or with a key of yours:' },
    { is: 'call', text: `curl -X POST ${restoring(first.hookId, baseUrl)} -H 'domain: ${domain}' -H 'key: …'` },
  ];
}

const restoring = (hookId: number, baseUrl: string) => `${baseUrl}/v2/hooks/${hookId}/restore`;

function moment(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');
}

function plain(piece: Piece): string {
  return piece.is === 'link' ? `${piece.text}:\n${piece.url}` : piece.text;
}

function marked(piece: Piece): string {
  const text = escaped(piece.text);
  switch (piece.is) {
    case 'title':
      return `<h1>${text}</h1>`;
    case 'hook':
      return `<h2>${text}</h2>`;
    case 'says':
      return `<p>${text}</p>`;
    case 'call':
      return `<pre><code>${text}</code></pre>`;
    case 'link':
      return `<p><a href="${escaped(piece.url)}">${text}</a></p>`;
  }
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(title)}</title></head>
<body>
${body}
</body>
</html>
`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
}

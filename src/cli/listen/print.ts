import type { Notification } from '../../../packages/sdk/src/notifications.ts';
import { printable } from '../../control-characters.ts';
import { kinds, resourceTypeOf } from '../../delivery/outbox/event-kinds.ts';
import { columnsOf, fitted } from '../output/columns.ts';
import type { Screen } from '../output/screen.ts';
import { type Told, wordOf } from './forward.ts';

/** An occurrence that was dealt with: what happened, the record of it, and what came of forwarding it. */
export type Heard = {
  readonly entry: Notification;
  /** Null where it is gone, or not to be read. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Undefined where nothing is forwarded. */
  readonly told: Told | undefined;
};

const KIND_COLUMNS = Math.max(...Object.keys(kinds).map((kind) => kind.length));

/** Prints one line for people: when (UTC), what, what was answered and how soon, which record. */
export function printHeard({ entry, record, told }: Heard, screen: Screen): void {
  const answered = told === undefined ? [] : [wordOf(told.outcome).padEnd(7), `${told.outcome.ms} ms`.padStart(8)];
  const cells = [entry.occurred_at, entry.kind.padEnd(KIND_COLUMNS), ...answered, idIn(entry.resource_url).padStart(5)];
  const line = `${cells.join('  ')}  `;
  const name = record === null ? '(gone)' : nameIn(entry, record);
  const room = screen.isTTY ? (screen.columns || 80) - line.length : columnsOf(name);
  const whole = `${line}${fitted(name, Math.max(4, Math.min(room, columnsOf(name))))}`.trimEnd();
  const [word] = answered;
  if (told === undefined || word === undefined) screen.print(whole);
  else screen.printColoured(whole, word, wordOf(told.outcome) === '200' ? 'green' : 'red');
}

/** The same for programs. */
export function heardAnswer({ entry, record, told }: Heard): object {
  const forwarded =
    told === undefined
      ? null
      : {
          status: told.outcome.kind === 'answered' ? told.outcome.status : null,
          outcome: wordOf(told.outcome),
          milliseconds: told.outcome.ms,
          attempts: told.attempts,
          webhook_id: told.webhookId,
        };
  return { ...entry, record, forwarded };
}

function nameIn({ kind }: Notification, record: Readonly<Record<string, unknown>>): string {
  return printable(String(record[`${resourceTypeOf(kind)}_name`] ?? ''));
}

function idIn(resourceUrl: string): string {
  return resourceUrl.slice(resourceUrl.lastIndexOf('/') + 1);
}

/** What an outcome would mean for a hook in production, where it is not what its author may think. */
export function hintFor({ outcome, attempts }: Told): string | undefined {
  const status = outcome.kind === 'answered' ? outcome.status : 0;
  if (status === 401) return 'In production a 401 ends the hook at once: it is told nothing more until it is restored.';
  if (status > 200 && status < 300) return `Only 200 counts as delivered; to a hook, ${status} is a failure.`;
  if (status >= 300 && status < 400) return 'No redirect is followed; to a hook it is a failure.';
  if (attempts === 3) return 'In production this was the third failure in a row: the hook would have ended here.';
  return undefined;
}

import type { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Notification } from '../../../packages/sdk/src/notifications.ts';
import { printable } from '../../control-characters.ts';
import { kinds, resourceTypeOf } from '../../delivery/outbox/event-kinds.ts';
import type { Output } from '../output/screen.ts';
import { columnsOf, fitToColumns } from '../output/table.ts';
import { type ForwardResult, wordOf } from './forward.ts';

/** A handled occurrence with its record and the result of forwarding it. */
export type HandledOccurrence = {
  readonly entry: Notification;
  /** The record; null if it was deleted or the key may not read it. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Result of forwarding the occurrence; undefined without forwarding. */
  readonly forwarded: ForwardResult | undefined;
};

const KIND_COLUMNS = Math.max(...Object.keys(kinds).map((kind) => kind.length));

/** Prints an occurrence as one line: time (UTC), kind, response with its duration, id and name of the record. */
export function printOccurrence({ entry, record, forwarded: result }: HandledOccurrence, screen: Output): void {
  const response =
    result === undefined ? [] : [wordOf(result.outcome).padEnd(7), `${result.outcome.ms} ms`.padStart(8)];
  const cells = [entry.occurred_at, entry.kind.padEnd(KIND_COLUMNS), ...response, idIn(entry.resource_url).padStart(5)];
  const line = `${cells.join('  ')}  `;
  const name = record === null ? '(gone)' : nameIn(entry, record);
  const available = screen.isTTY ? (screen.columns || 80) - line.length : columnsOf(name);
  const text = `${line}${fitToColumns(name, Math.max(4, Math.min(available, columnsOf(name))))}`.trimEnd();
  const [word] = response;
  if (result === undefined || word === undefined) screen.print(text);
  else screen.printColoured(text, word, wordOf(result.outcome) === '200' ? 'green' : 'red');
}

/** Converts a handled occurrence to JSON. */
export function occurrenceJson({ entry, record, forwarded: result }: HandledOccurrence): object {
  const forwarded =
    result === undefined
      ? null
      : {
          status: result.outcome.kind === 'answered' ? result.outcome.status : null,
          outcome: wordOf(result.outcome),
          milliseconds: result.outcome.ms,
          attempts: result.attempts,
          webhook_id: result.webhookId,
        };
  return { ...entry, record, forwarded };
}

function nameIn({ kind }: Notification, record: Readonly<Record<string, unknown>>): string {
  return printable(String(record[`${resourceTypeOf(kind)}_name`] ?? ''));
}

function idIn(resourceUrl: string): string {
  return resourceUrl.slice(resourceUrl.lastIndexOf('/') + 1);
}

/** Returns a hint if a hook in production would treat this outcome in a way that may surprise; otherwise undefined. */
function hintFor({ outcome, attempts }: ForwardResult): string | undefined {
  const status = outcome.kind === 'answered' ? outcome.status : 0;
  if (status === 401)
    return 'In production a 401 ends the hook immediately: it is not notified again until it is restored.';
  if (status > 200 && status < 300) return `Only 200 counts as delivered; for a hook, ${status} is a failure.`;
  if (status >= 300 && status < 400) return 'Redirects are not followed; for a hook this is a failure.';
  if (attempts === 3) return 'In production this was the third failure in a row: the hook would have ended here.';
  return undefined;
}

/**
 * Prints notices to a stream that is separate from the occurrences, which programs may read. Repeated notices are
 * suppressed.
 */
export class Notices {
  readonly #print: (line: string) => void;
  readonly #hints = new Set<string>();
  #failure = '';

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Reports a failed forward that will be retried. */
  failed({ kind, cursor }: Notification, target: string, result: ForwardResult): void {
    const verb = result.outcome.kind === 'answered' ? 'answered' : 'gave no answer:';
    const failure = `${kind} (cursor ${cursor}): ${target} ${verb} ${wordOf(result.outcome)}`;
    if (failure !== this.#failure) this.#print(`${failure}; retrying until it answers 200.`);
    this.#failure = failure;
    this.hint(result);
  }

  /** Explains how a hook in production would treat an outcome. Each explanation is printed once. */
  hint(result: ForwardResult): void {
    const hint = hintFor(result);
    if (hint === undefined || this.#hints.has(hint)) return;
    this.#hints.add(hint);
    this.#print(hint);
  }

  lost(service: string, { message }: CarillonError): void {
    this.#print(`${service} does not answer (${message}); retrying.`);
  }

  found(service: string): void {
    this.#print(`${service} answers again.`);
  }
}

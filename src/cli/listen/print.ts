import type { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { FeedEntry } from '../../../packages/sdk/src/notifications.ts';
import { printable } from '../../control-characters.ts';
import { kinds, resourceTypeOf } from '../../delivery/outbox/event-kinds.ts';
import type { Output } from '../output/screen.ts';
import { fitToWidth, textWidth } from '../output/table.ts';
import { type ForwardResult, outcomeText } from './forward.ts';

/** A handled occurrence with its record and the result of forwarding it. */
export type HandledOccurrence = {
  readonly entry: FeedEntry;
  /** The record; null if it was deleted or the key may not read it. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Result of forwarding the occurrence; undefined without forwarding. */
  readonly forwarded: ForwardResult | undefined;
};

const KIND_WIDTH = Math.max(...Object.keys(kinds).map((kind) => kind.length));

/** Prints an occurrence as one line: time (UTC), kind, response with its duration, id and name of the record. */
export function printOccurrence({ entry, record, forwarded: result }: HandledOccurrence, screen: Output): void {
  const response =
    result === undefined ? [] : [outcomeText(result.outcome).padEnd(7), `${result.outcome.ms} ms`.padStart(8)];
  const cells = [
    entry.occurred_at,
    entry.kind.padEnd(KIND_WIDTH),
    ...response,
    recordId(entry.resource_url).padStart(5),
  ];
  const line = `${cells.join('  ')}  `;
  const name = record === null ? '(gone)' : recordName(entry, record);
  const available = screen.isTTY ? (screen.columns || 80) - line.length : textWidth(name);
  const text = `${line}${fitToWidth(name, Math.max(4, Math.min(available, textWidth(name))))}`.trimEnd();
  const [word] = response;
  if (result === undefined || word === undefined) screen.print(text);
  else screen.printColoured(text, word, outcomeText(result.outcome) === '200' ? 'green' : 'red');
}

/** Converts a handled occurrence to JSON. */
export function occurrenceJson({ entry, record, forwarded: result }: HandledOccurrence): object {
  const forwarded =
    result === undefined
      ? null
      : {
          status: result.outcome.kind === 'answered' ? result.outcome.status : null,
          outcome: outcomeText(result.outcome),
          milliseconds: result.outcome.ms,
          attempts: result.attempts,
          webhook_id: result.webhookId,
        };
  return { ...entry, record, forwarded };
}

function recordName({ kind }: FeedEntry, record: Readonly<Record<string, unknown>>): string {
  return printable(String(record[`${resourceTypeOf(kind)}_name`] ?? ''));
}

function recordId(resourceUrl: string): string {
  return resourceUrl.slice(resourceUrl.lastIndexOf('/') + 1);
}

/** Returns a hint if a hook in production would treat this outcome in a way that may surprise; otherwise undefined. */
function productionHint({ outcome, attempts }: ForwardResult): string | undefined {
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
  readonly #explained = new Set<string>();
  #lastFailure = '';

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Reports a failed forward that will be retried. */
  reportFailure({ kind, cursor }: FeedEntry, target: string, result: ForwardResult): void {
    const verb = result.outcome.kind === 'answered' ? 'answered' : 'gave no answer:';
    const failure = `${kind} (cursor ${cursor}): ${target} ${verb} ${outcomeText(result.outcome)}`;
    if (failure !== this.#lastFailure) this.#print(`${failure}; retrying until it answers 200.`);
    this.#lastFailure = failure;
    this.explainOutcome(result);
  }

  /** Explains how a hook in production would treat an outcome. Each explanation is printed once. */
  explainOutcome(result: ForwardResult): void {
    const hint = productionHint(result);
    if (hint === undefined || this.#explained.has(hint)) return;
    this.#explained.add(hint);
    this.#print(hint);
  }

  reportUnreachable(service: string, { message }: CarillonError): void {
    this.#print(`${service} does not answer (${message}); retrying.`);
  }

  reportReachable(service: string): void {
    this.#print(`${service} answers again.`);
  }
}

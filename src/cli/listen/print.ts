import type { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { FeedEntry } from '../../../packages/sdk/src/notifications.ts';
import { toPrintable } from '../../control-characters.ts';
import { formatOutcome } from '../../delivery/dispatcher/retry-policy.ts';
import { occurrenceKinds, resourceTypeOf } from '../../delivery/outbox/event-kinds.ts';
import type { Output } from '../output/screen.ts';
import { fitToWidth, measureTextWidth } from '../output/table.ts';
import type { ForwardResult } from './forward.ts';

/** An occurrence (domain event) to print, with its record and the result of forwarding it. */
export type HandledOccurrence = {
  readonly entry: FeedEntry;
  /** The record; null if it was deleted or the key may not read it. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Result of forwarding the occurrence; undefined without forwarding. */
  readonly forwardResult: ForwardResult | undefined;
};

const KIND_COLUMN_WIDTH = Math.max(...occurrenceKinds.map((kind) => kind.length));

/** Prints an occurrence as one line: time (UTC), kind, response with its duration, id and name of the record. */
export function printOccurrence({ entry, record, forwardResult }: HandledOccurrence, output: Output): void {
  const responseCells =
    forwardResult === undefined
      ? []
      : [formatOutcome(forwardResult.outcome).padEnd(7), `${forwardResult.outcome.durationMs} ms`.padStart(8)];
  const cells = [
    entry.occurred_at,
    entry.kind.padEnd(KIND_COLUMN_WIDTH),
    ...responseCells,
    recordIdOf(entry.resource_url).padStart(5),
  ];
  const linePrefix = `${cells.join('  ')}  `;
  const nameText = record === null ? '(gone)' : recordNameOf(entry, record);
  const availableWidth = output.isTTY ? (output.columns || 80) - linePrefix.length : measureTextWidth(nameText);
  const fullLine =
    `${linePrefix}${fitToWidth(nameText, Math.max(4, Math.min(availableWidth, measureTextWidth(nameText))))}`.trimEnd();
  const [outcomeWord] = responseCells;
  if (forwardResult === undefined || outcomeWord === undefined) output.print(fullLine);
  else output.printWithColor(fullLine, outcomeWord, formatOutcome(forwardResult.outcome) === '200' ? 'green' : 'red');
}

/** Converts an occurrence, its record and the result of forwarding it to JSON. */
export function toOccurrenceJson({ entry, record, forwardResult }: HandledOccurrence): object {
  const forwardedJson =
    forwardResult === undefined
      ? null
      : {
          status: forwardResult.outcome.kind === 'answered' ? forwardResult.outcome.status : null,
          outcome: formatOutcome(forwardResult.outcome),
          milliseconds: forwardResult.outcome.durationMs,
          attempts: forwardResult.attemptCount,
          webhook_id: forwardResult.webhookId,
        };
  return { ...entry, record, forwarded: forwardedJson };
}

function recordNameOf({ kind }: FeedEntry, record: Readonly<Record<string, unknown>>): string {
  return toPrintable(String(record[`${resourceTypeOf(kind)}_name`] ?? ''));
}

function recordIdOf(resourceUrl: string): string {
  return resourceUrl.slice(resourceUrl.lastIndexOf('/') + 1);
}

/** Returns a hint if a hook in production treats this outcome in a way that may surprise; otherwise undefined. */
function findProductionHint({ outcome, attemptCount }: ForwardResult): string | undefined {
  const status = outcome.kind === 'answered' ? outcome.status : 0;
  if (status === 401)
    return 'In production a 401 ends the hook immediately: it is not notified again until it is restored.';
  if (status > 200 && status < 300) return `Only 200 counts as delivered; for a hook, ${status} is a failure.`;
  if (status >= 300 && status < 400) return 'Redirects are not followed; for a hook this is a failure.';
  if (attemptCount === 3) return 'In production this was the third failure in a row: the hook would have ended here.';
  return undefined;
}

/**
 * Prints notices about failures, on a separate stream, because programs may read the stream of occurrences. Does not
 * repeat a notice.
 */
export class NoticePrinter {
  readonly #printLine: (line: string) => void;
  readonly #printedHints = new Set<string>();
  #lastFailureText = '';

  constructor(printLine: (line: string) => void) {
    this.#printLine = printLine;
  }

  /** Reports a failed attempt to forward an occurrence. The attempt will be retried. */
  reportFailure({ kind, cursor }: FeedEntry, target: string, forwardResult: ForwardResult): void {
    const answerPhrase = forwardResult.outcome.kind === 'answered' ? 'answered' : 'gave no answer:';
    const failureText = `${kind} (cursor ${cursor}): ${target} ${answerPhrase} ${formatOutcome(forwardResult.outcome)}`;
    if (failureText !== this.#lastFailureText) this.#printLine(`${failureText}; retrying until it answers 200.`);
    this.#lastFailureText = failureText;
    this.explainOutcome(forwardResult);
  }

  /** Explains how a hook in production would treat an outcome. Each explanation is printed once. */
  explainOutcome(forwardResult: ForwardResult): void {
    const hint = findProductionHint(forwardResult);
    if (hint === undefined || this.#printedHints.has(hint)) return;
    this.#printedHints.add(hint);
    this.#printLine(hint);
  }

  reportUnreachable(serviceUrl: string, { message }: CarillonError): void {
    this.#printLine(`${serviceUrl} does not answer (${message}); retrying.`);
  }

  reportReachable(serviceUrl: string): void {
    this.#printLine(`${serviceUrl} answers again.`);
  }
}

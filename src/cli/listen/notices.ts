import type { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Notification } from '../../../packages/sdk/src/notifications.ts';
import { type Told, wordOf } from './forward.ts';
import { hintFor } from './print.ts';

/** Prints notices to a separate stream, so that programs can read the occurrences. Repeated notices are suppressed. */
export class Notes {
  readonly #print: (line: string) => void;
  readonly #hints = new Set<string>();
  #failure = '';

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Reports a failed forward that will be retried. */
  failed({ kind, cursor }: Notification, target: string, result: Told): void {
    const verb = result.outcome.kind === 'answered' ? 'answered' : 'gave no answer:';
    const failure = `${kind} (cursor ${cursor}): ${target} ${verb} ${wordOf(result.outcome)}`;
    if (failure !== this.#failure) this.#print(`${failure}; retrying until it answers 200.`);
    this.#failure = failure;
    this.hint(result);
  }

  /** Explains what an outcome would mean for a hook, once. */
  hint(result: Told): void {
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

import type { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Notification } from '../../../packages/sdk/src/notifications.ts';
import { type Told, wordOf } from './forward.ts';
import { hintFor } from './print.ts';

/** What is no occurrence is said elsewhere, so that programs can read the occurrences: each thing when it is new. */
export class Notes {
  readonly #say: (line: string) => void;
  readonly #hints = new Set<string>();
  #failure = '';

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** Forwarding did not go well, and is tried again. */
  failed({ kind, cursor }: Notification, target: string, told: Told): void {
    const did = told.outcome.kind === 'answered' ? 'answered' : 'gave no answer:';
    const failure = `${kind} (cursor ${cursor}): ${target} ${did} ${wordOf(told.outcome)}`;
    if (failure !== this.#failure) this.#say(`${failure}; sent again until it answers 200.`);
    this.#failure = failure;
    this.hint(told);
  }

  /** What an outcome would mean in production, once. */
  hint(told: Told): void {
    const hint = hintFor(told);
    if (hint === undefined || this.#hints.has(hint)) return;
    this.#hints.add(hint);
    this.#say(hint);
  }

  lost(service: string, { message }: CarillonError): void {
    this.#say(`${service} does not answer (${message}); listening goes on when it does.`);
  }

  found(service: string): void {
    this.#say(`${service} answers again.`);
  }
}

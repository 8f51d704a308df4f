import type { FlagInput, IdOrNone, Optional } from './api-types.ts';
import { recordOf } from './response-body.ts';
import type { OnceOptions, Send } from './transport.ts';

/** A file to be brought in. X9. */
export type ImportInput = {
  /** The file: iCalendar (RFC 5545), as text. */
  readonly ics: string;
} & Optional<{
  /** The project of what is created. */
  project_id: IdOrNone;
  /** The IANA name of the zone that times with a zone are converted to; left out: the account's. */
  time_zone: string;
  /** The same for an account that has none; left out: the file's own. */
  default_time_zone: string;
  /** No hook is told; the feed says `changed_event` of what is created. */
  silent: FlagInput;
  /** What was deleted here since it was brought in comes again. */
  again: FlagInput;
}>;

/** Why something in a file is not here afterwards, or is here otherwise. X9. */
export type DropReason =
  | 'not_an_event'
  | 'no_field'
  | 'cut_off'
  | 'no_start'
  | 'out_of_range'
  | 'no_property'
  | 'misplaced'
  | 'said_before'
  | 'bad_time'
  | 'bad_duration'
  | 'bad_rule'
  | 'rule_without_times'
  | 'unknown_zone'
  | 'no_zone'
  | 'zone_of_file'
  | 'cancelled'
  | 'replaced'
  | 'own'
  | 'repeated_before'
  | 'repeated_after'
  | 'repeated_too_often'
  | 'untitled'
  | 'shortened';

/** What was dropped for one reason. X9. */
export type Dropped = {
  /** What it is: `VTODO`, `LOCATION`, `EXDATE`. */
  readonly what: string;
  /** Why. */
  readonly reason: DropReason;
  /** The reason in a sentence. */
  readonly says: string;
  /** How often. */
  readonly count: string;
  /** The first of them: the lines where they stand, and their names or what stands there. */
  readonly examples: readonly string[];
};

/** What came of a file. X9. */
export type ImportReport = {
  /** Events that were created. */
  readonly created: string;
  /** Events that the file says something else of than before, and were changed. */
  readonly changed: string;
  /** Events that were brought in before, and of which the file says the same; they stay as they are. */
  readonly unchanged: string;
  /** Events that were brought in before and deleted here since; they stay deleted. */
  readonly deleted: string;
  /** The zone that times with a zone were converted to; UTC where there is none. */
  readonly time_zone: string;
  /** From this day on repetitions were brought in, `YYYY-MM-DD`. */
  readonly repeated_from: string;
  /** Until this day, included. */
  readonly repeated_to: string;
  /** What of the file is not here. */
  readonly dropped: readonly Dropped[];
};

/** What files can be brought into. X9. */
export interface Imports {
  /**
   * Brings an .ics file in; a second time it makes nothing twice. Waits five minutes unless `timeoutMs` says otherwise.
   * Errors: `invalid_input` with the line, `not_found` for the project, `body_too_large`, `overloaded`.
   */
  import(input: ImportInput, options?: OnceOptions): Promise<ImportReport>;
}

/** How long a large file may take. */
const TIMEOUT_MS = 300_000;

/** Imports at `/{noun}/import`. */
export function imports(send: Send, resourceType: string): Imports {
  return {
    import: async (input, options) =>
      recordOf(
        await send({ timeoutMs: TIMEOUT_MS, ...options, method: 'POST', path: [resourceType, 'import'], body: input }),
      ),
  };
}

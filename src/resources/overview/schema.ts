import type { Shown } from '../../http/field.ts';
import { shownMoment, shownNumber, shownRecords } from '../../http/fields.ts';

const minuteFields = {
  minute: shownMoment('When it begins, UTC.'),
  delivered: shownNumber('Attempts that were answered with 200.'),
  failed: shownNumber('Attempts that failed.'),
};

export type MinuteRow = Shown<typeof minuteFields>;

/** How deliveries go at this moment. */
export const overviewFields = {
  owed: shownNumber('Deliveries that are owed to live hooks, of the 10000 lowest of those that are owed any.'),
  oldest_owed_at: shownMoment('When the oldest of them became owed, UTC.'),
  lanes_failing: shownNumber('Live hooks between a failure and the next 200.'),
  hooks_live: shownNumber('Live hooks.'),
  hooks_ended_today: shownNumber('Hooks that have ended since 00:00 UTC.'),
  delivered_last_hour: shownNumber('Attempts of this minute and the 59 before it that were answered with 200.'),
  failed_last_hour: shownNumber('Those that failed; faults of our own are neither.'),
  p50_ms: shownNumber('Half of them took no longer.'),
  p95_ms: shownNumber('95 of 100 took no longer.'),
  attempts_since: shownMoment('From when on attempts were counted: later than an hour ago where there are very many.'),
  minutes: shownRecords(
    'The minutes of the last hour, oldest first; fewer where attempts_since is later.',
    minuteFields,
  ),
};

import type { Field } from '../../http/field.ts';
import { key, label, line, referenceOrNone, shownId, shownMoment, shownOnce, shownText } from '../../http/fields.ts';
import { isZone } from '../../ical/zone.ts';
import { idFilter } from '../filters.ts';

/** What a calendar shows: what concerns its user, what belongs to a project, or everything. */
export const scopes = ['own', 'project', 'account'] as const;

export type Scope = (typeof scopes)[number];

const shownScope = (says: string): Field<string | null, 'shown'> => ({
  ...shownText(says),
  answers: { type: 'string', enum: scopes },
});

/** A calendar as it is listed; never its address (X9). */
export const calendarFields = {
  id: key('Identifier of the calendar.'),
  user_id: shownId('Whose it is: it shows no more than this user may read.'),
  label: shownText('What it is for.'),
  scope: shownScope('What it shows.'),
  project_id: shownId('The project it shows; 0 for none.'),
  time_zone: shownText("The zone that its times are told in; empty for the account's."),
  date_created: shownMoment('When it was made, UTC.'),
  last_fetched: shownMoment('When a program last asked for it, UTC, to the hour.'),
  expires: shownMoment('When it ends by itself, UTC: with the key that made it.'),
};

const scope: Field<Scope, 'written'> = {
  mode: 'written',
  says: 'own: what you created, what you are assigned to, and the events of your projects; project; account: everything.',
  accepts: { type: 'string', enum: scopes, 'x-must': `must be one of ${scopes.join(', ')}` },
  parse: (value) => scopes.find((one) => one === value) ?? 'own',
  initial: 'own',
  answers: {},
  show: (stored) => stored,
};

const ZONE_MUST = 'must be the name of a time zone, such as Europe/Zurich, or empty';

/** A zone by its IANA name; empty for the account's. */
export function zone(says: string): Field<string, 'written'> {
  return {
    ...line(says, 64),
    accepts: { type: 'string', maxLength: 64, 'x-must': ZONE_MUST },
    fault: (value) => (value === '' || isZone(String(value)) ? undefined : ZONE_MUST),
    parse: String,
  };
}

/** What making one takes. */
export const calendarInputFields = {
  label: label('What it is for.'),
  scope,
  project_id: referenceOrNone('The project, with scope project.'),
  time_zone: zone("The zone that its times are told in; left out: the account's."),
};

/** What making one answers: the address, this once. */
export const madeCalendarFields = {
  ...calendarFields,
  url: shownOnce('The address to subscribe to. It is shown this once and stored as a hash.'),
};

export const calendarFilters = {
  user_id: idFilter('Of this user; admins see the calendars of all, others their own.', 'calendars.user_id'),
};

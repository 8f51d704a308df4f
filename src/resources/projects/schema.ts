import {
  active,
  assigned,
  assignedTeams,
  calendarTimeOrNone,
  currency,
  decimal,
  flag,
  key,
  line,
  name,
  prose,
  referenceOrNone,
  shownText,
  tags,
  whole,
} from '../../http/fields.ts';
import { condition, fromDay, idFilter, sinceDay, tagIn, toDay, untilDay, wordFilter } from '../filters.ts';
import { stamps } from '../stamps.ts';

/** A project (C30). */
export const projectFields = {
  project_id: key('Identifier of the project.'),
  project_name: name('Name of the project.'),
  uri: line('Its address elsewhere.', 2_048),
  description: prose('Description.'),
  color: line('Colour.', 32),
  tags: tags('Tags, separated by commas.'),
  notes: prose('Notes.'),
  start_date: calendarTimeOrNone('First day.'),
  due_date: calendarTimeOrNone('Last day.'),
  ongoing: flag('It has no end in sight.'),
  client_id: referenceOrNone('The client it is for.'),
  client_name: shownText('The name of that client.'),
  currency: currency('Currency of its amounts.'),
  hourly_rate: decimal('Rate for one hour.'),
  fixed_price: flag('It has a fixed price.'),
  price: decimal('Price.'),
  public: flag('It may be shown to the client.'),
  active: active(),
  important: flag('It is important.'),
  closed: flag('It is closed.'),
  archived: flag('It is archived.'),
  progress: whole('Progress in percent.', 100),
  ...stamps,
  users: assigned('Who is assigned.'),
  teams: assignedTeams('Which teams are assigned.'),
};

export const projectFilters = {
  client_id: idFilter('For this client; 0 for those of none.', 'projects.client_id'),
  due_from: fromDay('Due on this day or later.', 'projects.due_date'),
  due_to: toDay('Due on this day or earlier.', 'projects.due_date'),
  created_from: sinceDay('Created on this day (UTC) or later.', 'projects.date_created'),
  created_to: untilDay('Created on this day (UTC) or earlier.', 'projects.date_created'),
  tag: tagIn('With this tag.', 'projects.tags'),
  status: wordFilter('open leaves out closed and archived.', {
    open: condition('projects.closed = 0 and projects.archived = 0'),
    closed: condition('projects.closed = 1'),
    archived: condition('projects.archived = 1'),
  }),
};

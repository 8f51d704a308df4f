import type { Route } from '../../../src/http/routes/route.ts';
import type { Place } from './operations.ts';

/**
 * Expected response about a record of another user of the same account: `shared` is readable by all (C2),
 * `refused` is 401 not_permitted (C13, C14), `hidden` looks like an unknown id.
 */
export type Rule = 'shared' | 'refused' | 'hidden';

const rules: Readonly<Record<string, Rule>> = {
  'path client_id': 'shared',
  'path comment_id': 'shared',
  'path contact_id': 'shared',
  'path project_id': 'shared',
  'path task_id': 'shared',
  'path subtask_id': 'shared',
  'path entry_id': 'shared',
  'path event_id': 'shared',
  'path user_id': 'shared',
  'path team_id': 'shared',
  'path hook_id': 'refused',
  'path delivery_id': 'refused',
  'path key_id': 'hidden',
  'path calendar_id': 'hidden',
  'path session_id': 'hidden',
  'body client_id': 'shared',
  'body project_id': 'shared',
  'body task_id': 'shared',
  'body parent_id': 'shared',
  'body subtask_id': 'shared',
  'body users': 'shared',
  'body teams': 'shared',
  // Rejected before the user is looked up.
  'body user_id': 'refused',
  'query client_id': 'shared',
  'query project_id': 'shared',
  'query task_id': 'shared',
  'query subtask_id': 'shared',
  'query parent_id': 'shared',
  'query team_id': 'shared',
  'query hook_id': 'hidden',
  'query user_id': 'refused',
  'query after': 'shared',
  'query before': 'shared',
  'header last-event-id': 'shared',
};

/** Routes for which a place has another rule. */
const exceptions: Readonly<Record<string, Rule>> = {
  // X1: 404 if it is not an ended hook of the caller.
  'POST /hooks/{hook_id}/restore path hook_id': 'hidden',
  // The hook is checked first.
  'GET /activity query hook_id': 'refused',
  // Filters by assigned users, which are visible to all.
  'GET /subtasks query user_id': 'shared',
  'GET /time_entries query user_id': 'shared',
  // Filters within the list that the caller may see.
  'GET /keys query user_id': 'hidden',
  'GET /calendars query user_id': 'hidden',
};

/** Undefined if no rule is defined yet. */
export function ruleFor({ method, path }: Route, { where, name }: Place): Rule | undefined {
  return exceptions[`${method} ${path} ${where} ${name}`] ?? rules[`${where} ${name}`];
}

import type { Route } from '../../../src/http/routes/route.ts';
import type { Place } from './operations.ts';

/**
 * What a user of the same account is answered about what is another one's: `shared` is everybody's (C2), `refused` is
 * 401 and said to be another user's (C13, C14), `hidden` is not there for them.
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
  // Before the user is looked up: whoever is named.
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

/** Rows where a place means something else than elsewhere. */
const exceptions: Readonly<Record<string, Rule>> = {
  // X1: 404 if it is not an ended hook of the caller.
  'POST /hooks/{hook_id}/restore path hook_id': 'hidden',
  // The hook is looked at first.
  'GET /activity query hook_id': 'refused',
  // Who is assigned, which everybody sees.
  'GET /subtasks query user_id': 'shared',
  'GET /time_entries query user_id': 'shared',
  // They list what the caller may see, and search in that.
  'GET /keys query user_id': 'hidden',
  'GET /calendars query user_id': 'hidden',
};

/** Undefined where nobody has said it yet. */
export function ofAnother({ method, path }: Route, { where, name }: Place): Rule | undefined {
  return exceptions[`${method} ${path} ${where} ${name}`] ?? rules[`${where} ${name}`];
}

import { systemClock } from '../src/clock.ts';
import { hashToken } from '../src/secrets.ts';
import type { MovedTable, Row } from '../src/transfer/contents.ts';

/** What a calendar program asks with. */
const TOKEN = 'calendar'.padEnd(43, '-');
const ACCOUNT = { scope: 'account', permissions: 'events:read,tasks:read,projects:read,users:read' };
const TODAY = `${new Date().toISOString().slice(0, 10)} 00:00:00`;

export type Fill = (table: MovedTable, count: number, row: (turn: number) => Row) => Promise<void>;

/** Records that make one call answer as much as it can. */
export type Scenario = {
  readonly name: string;
  readonly path: string;
  fill(fill: Fill): Promise<void>;
};

const prose = (character: string) => character.repeat(20_000);
const name = (character: string) => character.repeat(255);
/** A character that takes six in JSON. */
const ESCAPED = '\u0001';

export const scenarios: readonly Scenario[] = [
  {
    name: '25 comments with 1,000 replies of 20,000 characters each',
    path: '/v2/comments',
    async fill(fill) {
      const at = { project_id: 1, date_created: 1, comment: prose('x'), user_id: 1 };
      await fill('projects', 1, () => ({ project_id: 1, project_name: 'A project', user_id: 1 }));
      await fill('comments', 25, (turn) => ({ comment_id: turn + 1, ...at }));
      await fill('comments', 25_000, (turn) => ({ comment_id: turn + 26, parent_id: (turn % 25) + 1, ...at }));
    },
  },
  {
    name: '1,000 projects with 800 teams each',
    path: '/v2/projects',
    async fill(fill) {
      await fill('teams', 800, (turn) => ({ team_id: turn + 1, team_name: name('t'), user_id: 1 }));
      await fill('projects', 1_000, (turn) => ({ project_id: turn + 1, project_name: name('p'), user_id: 1 }));
      await fill('team_assignments', 800_000, (turn) => ({
        ...{ noun: 'project', record_id: Math.floor(turn / 800) + 1, team_id: (turn % 800) + 1 },
      }));
    },
  },
  {
    name: '1,000 tasks with the longest texts',
    path: '/v2/tasks',
    async fill(fill) {
      await fill('projects', 1, () => ({ project_id: 1, project_name: name('p'), user_id: 1 }));
      await fill('tasks', 1_000, (turn) => ({
        ...{ task_id: turn + 1, project_id: 1, task_name: name('t'), user_id: 1, tags: 't'.repeat(1_000) },
        ...{ description: prose('d'), notes: prose('n') },
      }));
    },
  },
  {
    name: '1,000 clients with the longest texts, of characters that take six in JSON',
    path: '/v2/clients',
    async fill(fill) {
      await fill('clients', 1_000, (turn) => ({
        ...{ client_id: turn + 1, client_name: name(ESCAPED), user_id: 1 },
        ...{ notes: prose(ESCAPED), background: prose(ESCAPED) },
      }));
    },
  },
  {
    name: '1,000 clients with the longest texts, in order of their names',
    path: '/v2/clients?order=clientname',
    async fill(fill) {
      await fill('clients', 1_000, (turn) => ({
        ...{ client_id: turn + 1, client_name: `${turn}`, user_id: 1, notes: prose('😀'), background: prose('😀') },
      }));
    },
  },
  {
    name: 'one project with 1,000 users and 1,000 teams',
    path: '/v2/projects/1',
    async fill(fill) {
      await fill('users', 1_000, (turn) => ({
        ...{ user_id: turn + 100, email: `${turn}@acme.test`, role: 'member' },
        ...{ first_name: ESCAPED.repeat(100), last_name: ESCAPED.repeat(100) },
      }));
      await fill('teams', 1_000, (turn) => ({ team_id: turn + 1, team_name: name(ESCAPED), user_id: 1 }));
      await fill('projects', 1, () => ({
        ...{ project_id: 1, project_name: 'p', user_id: 1, notes: prose(ESCAPED), description: prose(ESCAPED) },
      }));
      await fill('assignments', 1_000, (turn) => ({ noun: 'project', record_id: 1, user_id: turn + 100 }));
      await fill('team_assignments', 1_000, (turn) => ({ noun: 'project', record_id: 1, team_id: turn + 1 }));
    },
  },
  {
    name: '1,000 events with the longest names',
    path: '/v2/events',
    async fill(fill) {
      const day = '2027-01-01 00:00:00';
      await fill('events', 1_000, (turn) => ({
        ...{ event_id: turn + 1, event_name: name(ESCAPED), start_date: day, due_date: day, user_id: 1 },
      }));
    },
  },
  {
    name: '1,000 deliveries with 200 attempts each',
    path: '/v2/deliveries',
    async fill(fill) {
      await fill('hooks', 1, () => ({ hook_id: 1, user_id: 1, kind: 'new_event', target: 'http://127.0.0.1:9/' }));
      await fill('settled', 1_000, (turn) => ({
        ...{ delivery_id: turn + 1, hook_id: 1, user_id: 1, position: turn, kind: 'new_event', state: 'delivered' },
        ...{ owed_at: systemClock.now(), settled_at: systemClock.now() },
      }));
      await fill('attempts', 200_000, (turn) => ({
        ...{
          attempt_id: turn + 1,
          hook_id: 1,
          delivery_id: (turn % 1_000) + 1,
          outcome: '500',
          reason: 'r'.repeat(80),
        },
        attempted_at: systemClock.now(),
      }));
    },
  },
  {
    name: 'one delivery with 100,000 attempts',
    path: '/v2/deliveries/1',
    async fill(fill) {
      await fill('hooks', 1, () => ({ hook_id: 1, user_id: 1, kind: 'new_event', target: 'http://127.0.0.1:9/' }));
      await fill('settled', 1, () => ({
        ...{ delivery_id: 1, hook_id: 1, user_id: 1, position: 1, kind: 'new_event', state: 'delivered' },
        ...{ owed_at: systemClock.now(), settled_at: systemClock.now() },
      }));
      await fill('attempts', 100_000, (turn) => ({
        ...{ attempt_id: turn + 1, hook_id: 1, delivery_id: 1, outcome: '500', reason: 'r'.repeat(80) },
        attempted_at: systemClock.now(),
      }));
    },
  },
  {
    name: '1,000 hooks with the longest addresses',
    path: '/v2/hooks',
    async fill(fill) {
      await fill('hooks', 1_000, (turn) => ({
        ...{ hook_id: turn + 1, user_id: 1, kind: 'new_event', target: `http://127.0.0.1:9/${'x'.repeat(2_000)}` },
      }));
    },
  },
  {
    name: 'a calendar of 1,000 tasks with 500 users each',
    path: `/calendar/${TOKEN}.ics`,
    async fill(fill) {
      const due = { start_date: TODAY, due_date: TODAY };
      await fill('calendars', 1, () => ({ calendar_id: 1, user_id: 1, token_hash: hashToken(TOKEN), ...ACCOUNT }));
      await fill('users', 500, (turn) => ({
        ...{ user_id: turn + 100, email: `${turn}@acme.test`, role: 'member' },
        ...{ first_name: 'f'.repeat(100), last_name: 'l'.repeat(100) },
      }));
      await fill('projects', 1, () => ({ project_id: 1, project_name: name('p'), user_id: 1 }));
      await fill('tasks', 1_000, (turn) => ({
        ...{ task_id: turn + 1, project_id: 1, task_name: name('t'), user_id: 1, ...due },
      }));
      await fill('assignments', 500_000, (turn) => ({
        ...{ noun: 'task', record_id: Math.floor(turn / 500) + 1, user_id: (turn % 500) + 100 },
      }));
    },
  },
  {
    name: '1,000 entries of the feed',
    path: '/v2/notifications?scope=account',
    async fill(fill) {
      await fill('occurrences', 1_000, (turn) => ({
        ...{
          position: turn + 1,
          kind: 'changed_time_entry',
          user_id: 1,
          record_id: turn,
          occurred_at: systemClock.now(),
        },
      }));
    },
  },
];

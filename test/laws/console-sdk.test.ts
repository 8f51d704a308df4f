import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { activityFields, activityParameters, OutcomeRow } from '../../src/resources/activity/schema.ts';
import type { hourFields, hourParameters } from '../../src/resources/hours/schema.ts';
import type {
  invitationFields,
  invitationFilters,
  issuedInvitationFields,
  openedFields,
} from '../../src/resources/invitations/schema.ts';
import type { MinuteRow, overviewFields } from '../../src/resources/overview/schema.ts';
import type { passphraseFields } from '../../src/resources/passphrases/schema.ts';
import type {
  sessionFields,
  sessionParameters,
  signedInFields,
  signInFields,
} from '../../src/resources/sessions/schema.ts';
import type { VerdictRow } from '../../src/resources/verdict/actions.ts';
import type { verdictFields } from '../../src/resources/verdict/schema.ts';
import type { ActivityFilters, Occurrence, ToldHook } from '../../src/sdk/activity.ts';
import { CarillonConsole, type Invited, type SignIn } from '../../src/sdk/console.ts';
import type { Hour, HourFilters } from '../../src/sdk/hours.ts';
import * as sdk from '../../src/sdk/index.ts';
import type { Invitation, InvitationFilters, IssuedInvitation } from '../../src/sdk/invitations.ts';
import type { Minute, Overview } from '../../src/sdk/overview.ts';
import type { PassphraseInput } from '../../src/sdk/passphrase.ts';
import type { Session, SessionFilters, SignedIn } from '../../src/sdk/sessions.ts';
import type { Verdict } from '../../src/sdk/verdict.ts';
import { shapeOf } from '../harness/openapi.ts';
import { consoleRows, publicRows } from '../harness/rows.ts';

/** Two names of the same: the compiler refuses `true` where they are not. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
type Own<F> = Exclude<keyof F, 'limit' | 'offset'>;

const sameFields: {
  session: Same<keyof Session, keyof typeof sessionFields>;
  sessionFilters: Same<Own<SessionFilters>, keyof typeof sessionParameters>;
  invitation: Same<keyof Invitation, keyof typeof invitationFields>;
  issuedInvitation: Same<keyof IssuedInvitation, keyof typeof issuedInvitationFields>;
  invitationFilters: Same<Own<InvitationFilters>, keyof typeof invitationFilters>;
  passphrase: Same<keyof PassphraseInput, keyof typeof passphraseFields>;
  invited: Same<keyof Invited, keyof typeof openedFields>;
  signIn: Same<keyof SignIn, keyof typeof signInFields>;
  signedIn: Same<keyof SignedIn, keyof typeof signedInFields>;
  occurrence: Same<keyof Occurrence, keyof typeof activityFields>;
  toldHook: Same<keyof ToldHook, keyof OutcomeRow>;
  activityFilters: Same<keyof ActivityFilters, keyof typeof activityParameters>;
  overview: Same<keyof Overview, keyof typeof overviewFields>;
  minute: Same<keyof Minute, keyof MinuteRow>;
  hour: Same<keyof Hour, keyof typeof hourFields>;
  hourFilters: Same<Own<HourFilters>, keyof typeof hourParameters>;
  verdict: Same<keyof Verdict, keyof typeof verdictFields>;
  verdictWord: Same<Verdict['verdict'], VerdictRow['verdict']>;
} = {
  session: true,
  sessionFilters: true,
  invitation: true,
  issuedInvitation: true,
  invitationFilters: true,
  passphrase: true,
  invited: true,
  signIn: true,
  signedIn: true,
  occurrence: true,
  toldHook: true,
  activityFilters: true,
  overview: true,
  minute: true,
  hour: true,
  hourFilters: true,
  verdict: true,
  verdictWord: true,
};

test('the client of the console says in types what the server says in tables, and is no part of the published one', () => {
  assert.ok(Object.values(sameFields).every((same) => same));
  assert.ok(!Object.keys(sdk).includes('CarillonConsole'));
});

/** How methods are called that take something else than an id. */
const given: Readonly<Record<string, readonly unknown[]>> = {
  list: [{}],
  follow: [{}],
  each: [{}],
  create: [{}],
  set: [{}],
  overview: [],
};

test('the methods of the client of the console reach every row behind its door, and nothing that is none', async () => {
  const asked = new Set<string>();
  const client = new CarillonConsole({
    baseUrl: 'http://127.0.0.1',
    fetch: async (url, { method }) => {
      asked.add(`${method} ${new URL(url).pathname.replace(/\/1(?=\/|$)/g, '/{}')}`);
      return Response.json({ id: '1', data: [], paging: { offset: 0, limit: 1000, total_records: 0 } });
    },
  });
  for (const [noun, own] of Object.entries(client)) {
    const methods = typeof own === 'function' ? { [noun]: own } : own;
    for (const [name, method] of Object.entries(methods as Record<string, (...args: unknown[]) => unknown>)) {
      const below = name === 'create' && ['tasks', 'subtasks'].includes(noun);
      const answer = method(...(below ? ['1', {}] : (given[name] ?? ['1', {}])));
      // What the answer is like is another matter: a list stands for everything here.
      await Promise.resolve(isGenerator(answer) ? answer.next() : answer).catch(() => undefined);
    }
  }
  const rows = [...publicRows, ...consoleRows].map(({ method, path }) => `${method} /console/api${shapeOf(path)}`);
  assert.deepEqual([...asked].sort(), rows.sort());
});

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Invited, SignIn } from '../../packages/sdk/src/console.ts';
import * as sdk from '../../packages/sdk/src/index.ts';
import type { SignedIn } from '../../packages/sdk/src/sessions.ts';
import type { openedFields } from '../../src/resources/invitations/invitations.ts';
import type { signedInFields, signInFields } from '../../src/resources/sessions/schema.ts';

/** Two names of the same: the compiler refuses `true` where they are not. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

/** What is asked and answered at the open addresses, which are no rows. */
const sameFields: {
  invited: Same<keyof Invited, keyof typeof openedFields>;
  signIn: Same<keyof SignIn, keyof typeof signInFields>;
  signedIn: Same<keyof SignedIn, keyof typeof signedInFields>;
} = { invited: true, signIn: true, signedIn: true };

test('the client of the console says in types what the service says in tables, and is no part of the published one', () => {
  assert.ok(Object.values(sameFields).every((same) => same));
  assert.ok(!Object.keys(sdk).includes('CarillonConsole'));
});

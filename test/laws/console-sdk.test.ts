import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Invited, SignIn } from '../../packages/sdk/src/console.ts';
import * as sdk from '../../packages/sdk/src/index.ts';
import type { SignedIn } from '../../packages/sdk/src/sessions.ts';
import type { openedFields } from '../../src/resources/invitations/invitations.ts';
import type { signedInFields, signInFields } from '../../src/resources/sessions/schema.ts';

/** Type equality: the compiler rejects `true` for different types. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

/** Fields of the public routes, which have no route definitions. */
const sameFields: {
  invited: Same<keyof Invited, keyof typeof openedFields>;
  signIn: Same<keyof SignIn, keyof typeof signInFields>;
  signedIn: Same<keyof SignedIn, keyof typeof signedInFields>;
} = { invited: true, signIn: true, signedIn: true };

test('the types of the console client match the route fields, and the client is not part of the published SDK', () => {
  assert.ok(Object.values(sameFields).every((same) => same));
  assert.ok(!Object.keys(sdk).includes('CarillonConsole'));
});

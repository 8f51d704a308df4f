import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outranks, permissions, permissionsOf } from '../../src/permissions.ts';

// What comes of them at every row is in `walk.test.ts` and in the tenant matrix, `test/reliability/tenant-isolation/tenant-isolation.ts`.

test('C2 permissions are these, each to read and to write', () => {
  const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'];
  assert.deepEqual(
    permissions,
    areas.flatMap((area) => [`${area}:read`, `${area}:write`]),
  );
});

test('C2 X7 a member may do all but write users and the company; roles stand in this order', () => {
  assert.deepEqual(permissionsOf('owner'), permissions);
  assert.deepEqual(permissionsOf('admin'), permissions);
  const never = permissions.filter((one) => !permissionsOf('member').includes(one));
  assert.deepEqual(never, ['users:write', 'company:write']);
  assert.deepEqual(
    [outranks('owner', 'admin'), outranks('admin', 'member'), outranks('owner', 'owner'), outranks('member', 'admin')],
    [true, true, false, false],
  );
});

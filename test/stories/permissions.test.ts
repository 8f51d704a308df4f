import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outranks, permissions, permissionsOf } from '../../src/permissions.ts';

// The effect of permissions on every route is tested in `walk.test.ts` and in the tenant isolation test,
// `test/reliability/tenant-isolation/tenant-isolation.ts`.

test('C2 there is one permission to read and one to write for each area', () => {
  const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'];
  assert.deepEqual(
    permissions,
    areas.flatMap((area) => [`${area}:read`, `${area}:write`]),
  );
});

test('C2 X7 members have all permissions except writing users and the company; roles are ordered owner, admin, member', () => {
  assert.deepEqual(permissionsOf('owner'), permissions);
  assert.deepEqual(permissionsOf('admin'), permissions);
  const missing = permissions.filter((one) => !permissionsOf('member').includes(one));
  assert.deepEqual(missing, ['users:write', 'company:write']);
  assert.deepEqual(
    [outranks('owner', 'admin'), outranks('admin', 'member'), outranks('owner', 'owner'), outranks('member', 'admin')],
    [true, true, false, false],
  );
});

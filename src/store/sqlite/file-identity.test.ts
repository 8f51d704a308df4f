import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMountPoints } from './file-lock.ts';

test('a file mounted on its own is found in the Linux mount table; other systems have no table', () => {
  const table = [
    '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
    '97 22 254:0 /srv/a\\040b/carillon.db /data/a\\040b/carillon.db rw - ext4 /dev/vda rw',
    '',
  ].join('\n');
  assert.deepEqual(
    readMountPoints(() => table),
    ['/', '/data/a b/carillon.db', ''],
  );
  const fails = () => {
    throw new Error('ENOENT');
  };
  assert.deepEqual(readMountPoints(fails), []);
});

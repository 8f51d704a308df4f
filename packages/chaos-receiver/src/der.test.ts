import assert from 'node:assert/strict';
import { test } from 'node:test';
import { integer } from './der.ts';

const written = (hex: string) => integer(Buffer.from(hex, 'hex')).toString('hex');

test('an integer has as many bytes as it takes, and is never negative: OpenSSL reads no certificate that is otherwise', () => {
  assert.equal(written('02'), '020102');
  assert.equal(written('7fff'), '02027fff');
  assert.equal(written('80'), '02020080');
  // One serial number in 256 begins with a byte of zeros.
  assert.equal(written('007f'), '02017f');
  assert.equal(written('0080'), '02020080');
  assert.equal(written('0000ff01'), '020300ff01');
  assert.equal(written('0000'), '020100');
});

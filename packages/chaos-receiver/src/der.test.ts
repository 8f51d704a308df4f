import assert from 'node:assert/strict';
import { test } from 'node:test';
import { integer } from './der.ts';

const encoded = (hex: string) => integer(Buffer.from(hex, 'hex')).toString('hex');

test('an integer has the minimal length and is never negative: OpenSSL rejects other certificates', () => {
  assert.equal(encoded('02'), '020102');
  assert.equal(encoded('7fff'), '02027fff');
  assert.equal(encoded('80'), '02020080');
  // One serial number in 256 starts with a zero byte.
  assert.equal(encoded('007f'), '02017f');
  assert.equal(encoded('0080'), '02020080');
  assert.equal(encoded('0000ff01'), '020300ff01');
  assert.equal(encoded('0000'), '020100');
});

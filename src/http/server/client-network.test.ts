import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './client-network.ts';

test('a client is identified by its IPv4 address or IPv6 /64, without the port that a proxy appends', () => {
  for (const [source, network] of [
    ['203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:50123', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2'],
    ['[2001:db8:1:2::7]:443', '2001:db8:1:2'],
    ['unknown', 'unknown'],
  ] as const) {
    assert.equal(networkOf(source), network, source);
  }
});

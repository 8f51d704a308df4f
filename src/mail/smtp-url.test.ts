import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig, summaryOf } from '../config/load.ts';
import { decide } from './retry-policy.ts';
import { parseMailServer, parseSender, showMailServer } from './smtp-url.ts';

const HOUR_MS = 3_600_000;

function read(text: string) {
  const parsed = parseMailServer(text);
  return 'fault' in parsed ? parsed.fault : parsed.value;
}

test('X10 a mail server is parsed from its URL: TLS by default except on loopback', () => {
  const login = { user: 'me@acme.test', password: 'p:/#%1' };
  const written = 'me%40acme.test:p%3A%2F%23%251@';
  const wanted: [string, ReturnType<typeof read>][] = [
    ['', undefined],
    [`smtp://${written}mail.acme.test`, { host: 'mail.acme.test', port: 587, tls: 'starttls', login }],
    [`smtps://${written}mail.acme.test/`, { host: 'mail.acme.test', port: 465, tls: 'implicit', login }],
    ['smtp://relay.internal:25?tls=off', { host: 'relay.internal', port: 25, tls: 'none', login: undefined }],
    ['smtp://localhost:25', { host: 'localhost', port: 25, tls: 'none', login: undefined }],
    ['smtp://[::1]:25?tls=required', { host: '::1', port: 25, tls: 'starttls', login: undefined }],
  ];
  for (const [text, server] of wanted) assert.deepEqual(read(text), server, text);
  const wrong = [
    'mail.acme.test',
    'http://mail.acme.test',
    'smtp://',
    'smtp://me@a.test',
    'smtp://:secret@a.test',
    'smtp://me:%zz@a.test',
  ];
  const more = [
    'smtp://a.test/path',
    'smtp://me:se#cret@a.test',
    'smtp://a.test?tls=maybe',
    'smtp://a.test?tls=off&tls=off',
    'smtps://a.test?tls=off',
    'smtp://a.test?secure=1',
  ];
  for (const text of [...wrong, ...more]) {
    const fault = read(text);
    assert.ok(typeof fault === 'string' && /^(must|may only have) /.test(fault), text);
    assert.ok(!fault.includes('cret'), 'no password is repeated');
  }
});

test('X10 the sender is one plain address, with or without a name', () => {
  assert.deepEqual(parseSender('bells@acme.test'), { value: { name: '', address: 'bells@acme.test' } });
  assert.deepEqual(parseSender('The Bells, Acme <bells@acme.test>'), {
    value: { name: 'The Bells, Acme', address: 'bells@acme.test' },
  });
  for (const text of [
    'bells',
    'a@b.test, c@d.test',
    'A <a@b.test> B',
    'A\nBcc: c@d.test <a@b.test>',
    '"a b"@c.test',
    '<>',
  ])
    assert.ok('fault' in parseSender(text), text);
});

test('X10 a mail server needs a sender; its user name and password are never displayed', () => {
  const flags = { smtpUrl: 'smtp://me:secret@mail.acme.test', mailFrom: 'bells@acme.test' };
  const loaded = loadConfig({ flags, environment: {} });
  assert.ok('config' in loaded);
  const shown = summaryOf(loaded.config);
  assert.deepEqual([shown['smtp-url'], shown['mail-from']], ['smtp://…@mail.acme.test:587', 'bells@acme.test']);
  assert.equal(showMailServer(undefined), '');
  const without = loadConfig({ flags: { smtpUrl: flags.smtpUrl }, environment: {} });
  assert.deepEqual(without, { faults: ['--smtp-url needs --mail-from: the sender of the mails.'] });
});

test('X10 the backoff grows from a minute to an hour; a mail is given up after three days or a permanent rejection', () => {
  const failed = { is: 'failed', reason: '', untaken: true } as const;
  const waitsMs: number[] = [];
  for (let tries = 0; ; tries += 1) {
    const decision = decide(failed, { tries });
    if (decision.is !== 'retry') {
      assert.deepEqual(decision, { is: 'given_up' });
      break;
    }
    waitsMs.push(decision.waitMs);
  }
  assert.deepEqual(
    waitsMs.slice(0, 8).map((waitMs) => waitMs / 60_000),
    [1, 2, 4, 8, 16, 32, 60, 60],
  );
  const triedForMs = waitsMs.reduce((sum, waitMs) => sum + waitMs, 0);
  assert.ok(triedForMs >= 72 * HOUR_MS && triedForMs < 73 * HOUR_MS, `${triedForMs / HOUR_MS} hours`);
  assert.deepEqual(decide({ is: 'refused', reason: '' }, { tries: 0 }), { is: 'given_up' });
  const unknown = decide({ ...failed, untaken: false }, { tries: 0 });
  assert.deepEqual(unknown, { is: 'retry', waitMs: 60_000, sealed: true });
});

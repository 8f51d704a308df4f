import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startMailServer } from '../../test/kit/network/mail.ts';
import { certificate } from '../../test/kit/network/tls.ts';
import { loadConfig, summarizeConfig } from '../config/load.ts';
import { formatMailServer, parseMailServer, parseSender } from './mail-options.ts';
import { decideAfterSend } from './queue.ts';
import { type AddressedMessage, createMailTransport } from './smtp.ts';

const SENDER = { name: 'Carillon, the service', address: 'bells@acme.test' };
const LOGIN = 'carillon:pass%3Aword%2F%231@';

const message: AddressedMessage = {
  subject: 'Hook 1 has ended',
  text: 'Ended.\n\n.\n\nAnd so on — to the end.\n',
  html: '<p>Ended.</p>',
  to: { name: 'Test Owner', address: 'owner@acme.test' },
  messageId: '<carillon.1.1@localhost>',
  date: new Date(Date.UTC(2025, 4, 1, 12)),
};

function transportFor(url: string, stepMs?: number) {
  const parsed = parseMailServer(url);
  if ('fault' in parsed || parsed.value === undefined) throw new Error(url);
  const post = createMailTransport(parsed.value, SENDER, stepMs);
  return { ...post, send: (one = message, signal = new AbortController().signal) => post.send(one, signal) };
}

/** Trusts the test certificate while a test runs. */
function trustTestCertificate(t: { after(undo: () => void): void }): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate]);
  t.after(() => setDefaultCACertificates(before));
}

test('X10 a mail is sent over TLS with a login, from the configured sender, marked as auto-generated', async (t) => {
  trustTestCertificate(t);
  const box = await startMailServer(t);
  const direct = await startMailServer(t, { secure: true });
  for (const url of [`smtp://${LOGIN}localhost:${box.port}?tls=required`, `smtps://${LOGIN}localhost:${direct.port}`])
    assert.deepEqual(await transportFor(url).send(), { is: 'taken' }, url);
  for (const { secure, user, from, to, headers, text, html } of [...box.acceptedMails, ...direct.acceptedMails]) {
    assert.deepEqual(
      { secure, user, from, to },
      { secure: true, user: 'carillon', from: SENDER.address, to: 'owner@acme.test' },
    );
    assert.equal(headers.get('from'), '"Carillon, the service" <bells@acme.test>');
    assert.equal(headers.get('to'), 'Test Owner <owner@acme.test>');
    assert.equal(headers.get('message-id'), message.messageId);
    assert.equal(headers.get('date'), 'Thu, 01 May 2025 12:00:00 +0000');
    assert.equal(headers.get('auto-submitted'), 'auto-generated');
    assert.deepEqual([text, html], [message.text.trim(), message.html]);
  }
  assert.deepEqual([box.acceptedMails.length, direct.acceptedMails.length], [1, 1]);
});

test('X10 without the required TLS, or with a wrong certificate, nothing is sent and no login is attempted', async (t) => {
  let signedIn = 0;
  const onAuth = () => {
    signedIn += 1;
  };
  const plain = await startMailServer(t, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'], onAuth });
  const strange = await startMailServer(t, { onAuth });
  for (const [box, says] of [
    [plain, /STARTTLS/],
    [strange, /self-signed certificate/],
  ] as const) {
    const { send, checkConnection } = transportFor(`smtp://${LOGIN}localhost:${box.port}?tls=required`);
    const outcome = await send();
    assert.ok(outcome.is === 'failed' && outcome.isNotAccepted, JSON.stringify(outcome));
    assert.match(outcome.reason, says);
    assert.match((await checkConnection()) ?? '', says);
    assert.equal(box.receivedMails.length, 0);
  }
  assert.equal(signedIn, 0);
});

test('X10 the response of the server decides whether a mail is rejected permanently or retried', async (t) => {
  const box = await startMailServer(t);
  const { send, checkConnection } = transportFor(`smtp://${LOGIN}127.0.0.1:${box.port}`);
  box.replyToRecipient = (address) => (address.startsWith('nobody') ? 550 : address.startsWith('busy') ? 450 : 'take');
  const to = (address: string) => send({ ...message, to: { name: '', address } });
  const kindOf = ({ is, ...rest }: Awaited<ReturnType<typeof to>>) =>
    'isNotAccepted' in rest ? `${is} ${rest.isNotAccepted}` : is;
  assert.equal(kindOf(await to('nobody@acme.test')), 'refused');
  assert.equal(kindOf(await to('busy@acme.test')), 'failed true');
  box.replyToRecipient = () => 554;
  assert.equal(kindOf(await to('owner@acme.test')), 'failed true', 'who may send through a server is its operator’s');
  box.replyToRecipient = () => 'take';
  box.replyToData = () => 554;
  assert.equal(kindOf(await to('owner@acme.test')), 'refused');
  box.replyToData = () => 450;
  assert.equal(kindOf(await to('owner@acme.test')), 'failed true');
  assert.equal(await checkConnection(), undefined);

  const wrong = transportFor(`smtp://carillon:wrong@127.0.0.1:${box.port}`);
  assert.equal(kindOf(await wrong.send()), 'failed true', 'to be mended by the operator: no mail is lost by it');
  assert.match((await wrong.checkConnection()) ?? '', /^Invalid login: 535/);
  await box.close();
  assert.equal(kindOf(await send()), 'failed true');
  assert.match((await checkConnection()) ?? '', /ECONNREFUSED/);
});

test('X10 a silent server times out, and it is unknown whether it has accepted the mail', async (t) => {
  const box = await startMailServer(t);
  const { send } = transportFor(`smtp://127.0.0.1:${box.port}`);
  const deadline = new AbortController();
  box.replyToData = () => {
    deadline.abort();
    return 'hang';
  };
  const outcome = await send(message, deadline.signal);
  assert.ok(outcome.is === 'failed' && !outcome.isNotAccepted, JSON.stringify(outcome));
  const mute = await startMailServer(t, { onAuth: () => undefined });
  assert.match((await transportFor(`smtp://${LOGIN}127.0.0.1:${mute.port}`, 250).checkConnection()) ?? '', /Timeout/);
});

test('X10 a response that arrived while the process was blocked is read before the timeout fires', async (t) => {
  const box = await startMailServer(t);
  const { send } = transportFor(`smtp://127.0.0.1:${box.port}`, 500);
  box.replyToData = () => {
    // Block right after the reply was sent, for longer than nodemailer's inactivity timeout.
    queueMicrotask(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100));
    return 'take';
  };
  assert.deepEqual(await send(), { is: 'taken' });
});

test('X10 hostile names and addresses cannot inject a header, a recipient or a command', async (t) => {
  const box = await startMailServer(t);
  const { send } = transportFor(`smtp://127.0.0.1:${box.port}`);
  const hostile = [
    'Eve\r\nBcc: all@acme.test',
    'Eve\nX-Evil: 1\n\nbody',
    '"Eve" <eve@evil.test>, Mallory',
    'Ève <script>alert(1)</script> \u202e\u0000',
    `${'e'.repeat(300)}\r\n.\r\nMAIL FROM:<eve@evil.test>`,
  ];
  for (const name of hostile) {
    const subject = `Hook 1 has ended (${name})`;
    assert.equal((await send({ ...message, subject, to: { name, address: 'owner@acme.test' } })).is, 'taken', name);
  }
  const odd = [
    'a,eve@evil.test',
    'x@y>,<eve@evil.test',
    '"x"@acme.test',
    'a:b;@acme.test',
    'x@y\r\nRCPT TO:<eve@evil.test>',
  ];
  for (const address of odd)
    assert.equal((await send({ ...message, to: { name: '', address } })).is, 'refused', address);
  const names = ['from', 'to', 'subject', 'message-id', 'auto-submitted', 'date', 'mime-version', 'content-type'];
  for (const mail of box.acceptedMails) {
    assert.deepEqual([...mail.headers.keys()].sort(), names.sort());
    assert.equal(mail.text, message.text.trim());
    assert.equal(mail.to, 'owner@acme.test');
  }
  assert.equal(box.acceptedMails.length, hostile.length);
});

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
  const shown = summarizeConfig(loaded.config);
  assert.deepEqual([shown['smtp-url'], shown['mail-from']], ['smtp://…@mail.acme.test:587', 'bells@acme.test']);
  assert.equal(formatMailServer(undefined), '');
  const without = loadConfig({ flags: { smtpUrl: flags.smtpUrl }, environment: {} });
  assert.deepEqual(without, { faults: ['--smtp-url needs --mail-from: the sender of the mails.'] });
});

test('X10 the backoff grows from a minute to an hour; a mail is given up after three days or a permanent rejection', () => {
  const failed = { is: 'failed', reason: '', isNotAccepted: true } as const;
  const waitsMs: number[] = [];
  for (let tries = 0; ; tries += 1) {
    const decision = decideAfterSend(failed, { tries });
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
  assert.deepEqual(decideAfterSend({ is: 'refused', reason: '' }, { tries: 0 }), { is: 'given_up' });
  const unknown = decideAfterSend({ ...failed, isNotAccepted: false }, { tries: 0 });
  assert.deepEqual(unknown, { is: 'retry', waitMs: 60_000, sealed: true });
});

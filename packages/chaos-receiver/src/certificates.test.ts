import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createAuthority, createValidContent, DAY_MS, encodeInteger } from './certificates.ts';

const now = Date.UTC(2026, 10, 20);
const names = ['localhost', `${'long.'.repeat(40)}example`];
const addresses = ['127.0.0.1', '::1', '::', '2001:db8:0:1:1:1:1:1', '2001:db8::', '::ffff:192.0.2.1'];
const hosts = [...names, ...addresses];
const authority = createAuthority(hosts, now);

test('OpenSSL accepts the certificate of the authority and those that it issues', () => {
  const root = new X509Certificate(authority.certificate);
  const issued = new X509Certificate(authority.issueCertificate(createValidContent(hosts, now)).cert);
  assert.ok(root.ca && root.verify(root.publicKey) && issued.verify(root.publicKey) && issued.checkIssued(root));
  assert.equal(issued.ca, false);
});

test('a certificate is valid for its names and addresses, and for no others', () => {
  const issued = new X509Certificate(authority.issueCertificate(createValidContent(hosts, now)).cert);
  for (const name of names) assert.equal(issued.checkHost(name), name);
  for (const address of addresses) assert.equal(issued.checkIP(address), address);
  assert.equal(issued.checkHost('wrong.example'), undefined);
  assert.equal(issued.checkIP('::2'), undefined);
});

test('a certificate has the given validity, also beyond 2049, where the time format changes', () => {
  const issued = new X509Certificate(authority.issueCertificate(createValidContent(hosts, now)).cert);
  assert.deepEqual([issued.validFromDate.getTime(), issued.validToDate.getTime()], [now - DAY_MS, now + 30 * DAY_MS]);
  const late = { hosts, validFrom: Date.UTC(2049, 11, 31), validUntil: Date.UTC(2050, 0, 1) };
  const selfSigned = new X509Certificate(authority.issueSelfSignedCertificate(late).cert);
  assert.equal(selfSigned.validToDate.getTime(), late.validUntil);
  assert.ok(selfSigned.verify(selfSigned.publicKey));
});

const encoded = (hex: string) => encodeInteger(Buffer.from(hex, 'hex')).toString('hex');

test('an integer has the minimal length and is never negative: OpenSSL rejects other certificates', () => {
  assert.equal(encoded('02'), '020102');
  assert.equal(encoded('7fff'), '02027fff');
  assert.equal(encoded('80'), '02020080');
  // One in 256 serial numbers starts with a zero byte.
  assert.equal(encoded('007f'), '02017f');
  assert.equal(encoded('0080'), '02020080');
  assert.equal(encoded('0000ff01'), '020300ff01');
  assert.equal(encoded('0000'), '020100');
});

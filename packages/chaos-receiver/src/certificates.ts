import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';

// This section encodes the subset of DER (ITU-T X.690) that certificates need. Each value is encoded as tag, length and
// content.

export function encodeTagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length > 0xffff) throw new RangeError('a certificate is shorter than 64 KiB');
  const longLength = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...longLength]), content]);
}

export const encodeSequence = (...parts: readonly Uint8Array[]): Buffer => encodeTagged(0x30, ...parts);
export const encodeOctetString = (...parts: readonly Uint8Array[]): Buffer => encodeTagged(0x04, ...parts);
export const encodeTrue = (): Buffer => encodeTagged(0x01, Buffer.from([0xff]));

/** @param unusedBits number of padding bits at the end of the last byte */
export const encodeBitString = (bytes: Uint8Array, unusedBits = 0): Buffer =>
  encodeTagged(0x03, Buffer.from([unusedBits]), bytes);

/**
 * Encodes an unsigned big-endian integer with the minimal number of bytes. A leading zero byte is added if the first
 * bit is set, since DER integers are signed.
 */
export function encodeInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const minimal = first < 0 ? bytes.subarray(-1) : bytes.subarray(first);
  return encodeTagged(0x02, (minimal[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), minimal);
}

/** @param dotted object identifier in dotted form, such as `1.2.840.10045.4.3.2` */
export function encodeObjectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const base128 = (value: number): number[] => {
    const bytes = [value & 0x7f];
    for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
    return bytes;
  };
  return encodeTagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/**
 * Encodes a time. X.509 requires UTCTime, with a two-digit year, from 1950 to 2049, and GeneralizedTime for other
 * years.
 */
export function encodeTime(timestamp: number): Buffer {
  const text = `${new Date(timestamp).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  const isUtcTime = text >= '1950' && text < '2050';
  return isUtcTime ? encodeTagged(0x17, Buffer.from(text.slice(2))) : encodeTagged(0x18, Buffer.from(text));
}

/** A private key and its certificate in PEM, in the form that a TLS server takes. */
export type KeyAndCertificate = { readonly key: string; readonly cert: string };

/** The content that behaviours choose for a certificate: hosts and validity. */
export type CertificateContent = {
  /** Host names and IP addresses that the certificate is valid for. */
  readonly hosts: readonly string[];
  /** Start of the validity, in milliseconds since the epoch. `until` is its end. */
  readonly from: number;
  readonly until: number;
};

/**
 * A certificate authority. Each start of the receiver creates a new authority, so a sender that trusts it trusts only
 * this process.
 */
export type CertificateAuthority = {
  readonly certificate: string;
  readonly now: number;
  /** Host names and IP addresses of the receiver. */
  readonly hosts: readonly string[];
  issue(content: CertificateContent): KeyAndCertificate;
  selfSigned(content: CertificateContent): KeyAndCertificate;
};

export const DAY_MS = 86_400_000;

const ECDSA_WITH_SHA256 = encodeSequence(encodeObjectIdentifier('1.2.840.10045.4.3.2'));
const COMMON_NAME = '2.5.4.3';

type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
type CertificateEntity = { readonly name: string; readonly keys: KeyPair };

const newKeyPair = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** Returns the content of a valid certificate. It is valid from one day ago, since the sender's clock may be behind. */
export const validCertificateContent = (hosts: readonly string[], now: number): CertificateContent => ({
  hosts,
  from: now - DAY_MS,
  until: now + 30 * DAY_MS,
});

export function createAuthority(hosts: readonly string[], now: number): CertificateAuthority {
  const root: CertificateEntity = { name: 'Carillon chaos receiver, for tests only', keys: newKeyPair() };
  const issueServerCertificate = (content: CertificateContent, issuer?: CertificateEntity): KeyAndCertificate => {
    const subject: CertificateEntity = { name: 'Carillon chaos receiver', keys: newKeyPair() };
    const cert = signCertificate(subject, issuer ?? subject, content, serverExtensions(content));
    return { key: String(subject.keys.privateKey.export({ type: 'pkcs8', format: 'pem' })), cert };
  };
  return {
    certificate: signCertificate(root, root, validCertificateContent([], now), authorityExtensions),
    now,
    hosts,
    issue: (content) => issueServerCertificate(content, root),
    selfSigned: (content) => issueServerCertificate(content),
  };
}

/** Creates an X.509 certificate in PEM (RFC 5280, 4.1), signed with the key of the issuer. */
function signCertificate(
  subject: CertificateEntity,
  issuer: CertificateEntity,
  { from, until }: CertificateContent,
  extensions: readonly Buffer[],
): string {
  const keyIdentifiers = [
    encodeExtension('2.5.29.14', encodeOctetString(keyIdentifier(subject.keys))),
    encodeExtension('2.5.29.35', encodeSequence(encodeTagged(0x80, keyIdentifier(issuer.keys)))),
  ];
  const toBeSigned = encodeSequence(
    encodeTagged(0xa0, encodeInteger(Buffer.from([2]))),
    encodeInteger(keyIdentifier(subject.keys)),
    ECDSA_WITH_SHA256,
    encodeName(issuer),
    encodeSequence(encodeTime(from), encodeTime(until)),
    encodeName(subject),
    publicKeyInfo(subject.keys),
    encodeTagged(0xa3, encodeSequence(...extensions, ...keyIdentifiers)),
  );
  const signature = sign('sha256', toBeSigned, issuer.keys.privateKey);
  const der = encodeSequence(toBeSigned, ECDSA_WITH_SHA256, encodeBitString(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const encodeName = ({ name }: CertificateEntity) =>
  encodeSequence(
    encodeTagged(0x31, encodeSequence(encodeObjectIdentifier(COMMON_NAME), encodeTagged(0x0c, Buffer.from(name)))),
  );

const publicKeyInfo = ({ publicKey }: KeyPair) => publicKey.export({ type: 'spki', format: 'der' });

/** Returns the key identifier, which is also the serial number: different keys have different identifiers. */
const keyIdentifier = (keys: KeyPair) => createHash('sha1').update(publicKeyInfo(keys)).digest();

const encodeExtension = (id: string, value: Buffer, isCritical = false) =>
  encodeSequence(encodeObjectIdentifier(id), ...(isCritical ? [encodeTrue()] : []), encodeOctetString(value));

const KEY_USAGE = '2.5.29.15';
const BASIC_CONSTRAINTS = '2.5.29.19';

/** Extensions of the certificate of a certificate authority. Key usage: keyCertSign, cRLSign. */
const authorityExtensions: readonly Buffer[] = [
  encodeExtension(BASIC_CONSTRAINTS, encodeSequence(encodeTrue()), true),
  encodeExtension(KEY_USAGE, encodeBitString(Buffer.from([0x06]), 1), true),
];

/**
 * Returns the extensions of the certificate of a TLS server. Key usage: digitalSignature; extended key usage:
 * serverAuth.
 */
function serverExtensions({ hosts }: CertificateContent): readonly Buffer[] {
  return [
    encodeExtension(BASIC_CONSTRAINTS, encodeSequence(), true),
    encodeExtension(KEY_USAGE, encodeBitString(Buffer.from([0x80]), 7), true),
    encodeExtension('2.5.29.37', encodeSequence(encodeObjectIdentifier('1.3.6.1.5.5.7.3.1'))),
    encodeExtension('2.5.29.17', encodeSequence(...hosts.map(encodeAlternativeName))),
  ];
}

function encodeAlternativeName(host: string): Buffer {
  return isIP(host) === 0 ? encodeTagged(0x82, Buffer.from(host)) : encodeTagged(0x87, encodeAddress(host));
}

function encodeAddress(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // SocketAddress returns the canonical form, in which `::` replaces a run of zero groups.
  const [left = '', right] = new SocketAddress({ address, family: 'ipv6' }).address.split('::');
  const groups = (part: string) =>
    part
      .split(':')
      .filter((group) => group !== '')
      .flatMap(groupBytes);
  const [head, tail] = [groups(left), groups(right ?? '')];
  return Buffer.from([...head, ...Array.from({ length: 16 - head.length - tail.length }, () => 0), ...tail]);
}

/** Encodes a hexadecimal group of an IPv6 address as two bytes, or an IPv4 address at its end as four bytes. */
function groupBytes(group: string): number[] {
  if (group.includes('.')) return group.split('.').map(Number);
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';

// This section encodes the subset of DER (ITU-T X.690) that certificates need. Each value is encoded as tag, length and
// content.

export function encodeTaggedValue(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length > 0xffff) throw new RangeError('a certificate is shorter than 64 KiB');
  const lengthBytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}

export const encodeSequence = (...parts: readonly Uint8Array[]): Buffer => encodeTaggedValue(0x30, ...parts);
export const encodeOctetString = (...parts: readonly Uint8Array[]): Buffer => encodeTaggedValue(0x04, ...parts);
export const encodeTrue = (): Buffer => encodeTaggedValue(0x01, Buffer.from([0xff]));

/** @param unusedBits number of padding bits at the end of the last byte */
export const encodeBitString = (bytes: Uint8Array, unusedBits = 0): Buffer =>
  encodeTaggedValue(0x03, Buffer.from([unusedBits]), bytes);

/**
 * Encodes an unsigned big-endian integer with the minimal number of bytes. A leading zero byte is added if the first
 * bit is set, since DER integers are signed.
 */
export function encodeInteger(bytes: Uint8Array): Buffer {
  const firstNonZeroIndex = bytes.findIndex((byte) => byte !== 0);
  const minimalBytes = firstNonZeroIndex < 0 ? bytes.subarray(-1) : bytes.subarray(firstNonZeroIndex);
  return encodeTaggedValue(0x02, (minimalBytes[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), minimalBytes);
}

/** @param dottedOid object identifier in dotted form, such as `1.2.840.10045.4.3.2` */
export function encodeObjectIdentifier(dottedOid: string): Buffer {
  const [firstArc = 0, secondArc = 0, ...otherArcs] = dottedOid.split('.').map(Number);
  const encodeBase128 = (value: number): number[] => {
    const bytes = [value & 0x7f];
    for (let remainingValue = value >> 7; remainingValue > 0; remainingValue >>= 7)
      bytes.unshift((remainingValue & 0x7f) | 0x80);
    return bytes;
  };
  return encodeTaggedValue(0x06, Buffer.from([firstArc * 40 + secondArc, ...otherArcs.flatMap(encodeBase128)]));
}

/**
 * Encodes a time. X.509 requires UTCTime, with a two-digit year, from 1950 to 2049, and GeneralizedTime for other
 * years.
 */
export function encodeTime(timestamp: number): Buffer {
  const dateText = `${new Date(timestamp).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  const isUtcTime = dateText >= '1950' && dateText < '2050';
  return isUtcTime
    ? encodeTaggedValue(0x17, Buffer.from(dateText.slice(2)))
    : encodeTaggedValue(0x18, Buffer.from(dateText));
}

/** A private key and its certificate in PEM, named like the options of `node:tls`. */
export type KeyAndCertificate = { readonly key: string; readonly cert: string };

/** The properties of a certificate that a behaviour can choose: hosts and validity. */
export type CertificateContent = {
  /** Host names and IP addresses that the certificate is valid for. */
  readonly hosts: readonly string[];
  /** Start of the validity, in milliseconds since the epoch. */
  readonly validFrom: number;
  /** End of the validity, in milliseconds since the epoch. */
  readonly validUntil: number;
};

/**
 * A certificate authority. Each start of the receiver creates a new one, so a sender that trusts this authority trusts
 * only this process.
 */
export type CertificateAuthority = {
  /** Certificate of the authority in PEM, which the sender has to trust. */
  readonly certificate: string;
  /** When the authority was created, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** Host names and IP addresses of the receiver. */
  readonly hosts: readonly string[];
  issueCertificate(content: CertificateContent): KeyAndCertificate;
  issueSelfSignedCertificate(content: CertificateContent): KeyAndCertificate;
};

export const DAY_MS = 86_400_000;

const ECDSA_WITH_SHA256 = encodeSequence(encodeObjectIdentifier('1.2.840.10045.4.3.2'));
const COMMON_NAME_OID = '2.5.4.3';

type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
type CertificateEntity = { readonly name: string; readonly keyPair: KeyPair };

const generateKeyPair = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** Returns the content of a valid certificate. It is valid since yesterday: the sender's clock may be behind. */
export const createValidContent = (hosts: readonly string[], now: number): CertificateContent => ({
  hosts,
  validFrom: now - DAY_MS,
  validUntil: now + 30 * DAY_MS,
});

export function createAuthority(hosts: readonly string[], now: number): CertificateAuthority {
  const root: CertificateEntity = { name: 'Carillon chaos receiver, for tests only', keyPair: generateKeyPair() };
  const issueServerCertificate = (content: CertificateContent, issuer?: CertificateEntity): KeyAndCertificate => {
    const subject: CertificateEntity = { name: 'Carillon chaos receiver', keyPair: generateKeyPair() };
    const cert = signCertificate(subject, issuer ?? subject, content, createServerExtensions(content));
    return { key: String(subject.keyPair.privateKey.export({ type: 'pkcs8', format: 'pem' })), cert };
  };
  return {
    certificate: signCertificate(root, root, createValidContent([], now), authorityExtensions),
    createdAt: now,
    hosts,
    issueCertificate: (content) => issueServerCertificate(content, root),
    issueSelfSignedCertificate: (content) => issueServerCertificate(content),
  };
}

/** Creates an X.509 certificate in PEM (RFC 5280, 4.1), signed with the key of the issuer. */
function signCertificate(
  subject: CertificateEntity,
  issuer: CertificateEntity,
  { validFrom, validUntil }: CertificateContent,
  extensions: readonly Buffer[],
): string {
  const keyIdExtensions = [
    encodeExtension('2.5.29.14', encodeOctetString(computeKeyIdentifier(subject.keyPair))),
    encodeExtension('2.5.29.35', encodeSequence(encodeTaggedValue(0x80, computeKeyIdentifier(issuer.keyPair)))),
  ];
  const tbsCertificate = encodeSequence(
    encodeTaggedValue(0xa0, encodeInteger(Buffer.from([2]))),
    encodeInteger(computeKeyIdentifier(subject.keyPair)),
    ECDSA_WITH_SHA256,
    encodeDistinguishedName(issuer),
    encodeSequence(encodeTime(validFrom), encodeTime(validUntil)),
    encodeDistinguishedName(subject),
    encodePublicKeyInfo(subject.keyPair),
    encodeTaggedValue(0xa3, encodeSequence(...extensions, ...keyIdExtensions)),
  );
  const signature = sign('sha256', tbsCertificate, issuer.keyPair.privateKey);
  const derCertificate = encodeSequence(tbsCertificate, ECDSA_WITH_SHA256, encodeBitString(signature));
  const base64Lines = derCertificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${base64Lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const encodeDistinguishedName = ({ name }: CertificateEntity) =>
  encodeSequence(
    encodeTaggedValue(
      0x31,
      encodeSequence(encodeObjectIdentifier(COMMON_NAME_OID), encodeTaggedValue(0x0c, Buffer.from(name))),
    ),
  );

const encodePublicKeyInfo = ({ publicKey }: KeyPair) => publicKey.export({ type: 'spki', format: 'der' });

/**
 * Returns the key identifier: the SHA-1 hash of the public key. It also serves as the serial number of the certificate,
 * because it is different for each key.
 */
const computeKeyIdentifier = (keyPair: KeyPair) => createHash('sha1').update(encodePublicKeyInfo(keyPair)).digest();

const encodeExtension = (oid: string, value: Buffer, isCritical = false) =>
  encodeSequence(encodeObjectIdentifier(oid), ...(isCritical ? [encodeTrue()] : []), encodeOctetString(value));

const KEY_USAGE_OID = '2.5.29.15';
const BASIC_CONSTRAINTS_OID = '2.5.29.19';

/** Extensions of the certificate of a certificate authority. Key usage: keyCertSign, cRLSign. */
const authorityExtensions: readonly Buffer[] = [
  encodeExtension(BASIC_CONSTRAINTS_OID, encodeSequence(encodeTrue()), true),
  encodeExtension(KEY_USAGE_OID, encodeBitString(Buffer.from([0x06]), 1), true),
];

/**
 * Returns the extensions of the certificate of a TLS server. Key usage: digitalSignature; extended key usage:
 * serverAuth.
 */
function createServerExtensions({ hosts }: CertificateContent): readonly Buffer[] {
  return [
    encodeExtension(BASIC_CONSTRAINTS_OID, encodeSequence(), true),
    encodeExtension(KEY_USAGE_OID, encodeBitString(Buffer.from([0x80]), 7), true),
    encodeExtension('2.5.29.37', encodeSequence(encodeObjectIdentifier('1.3.6.1.5.5.7.3.1'))),
    encodeExtension('2.5.29.17', encodeSequence(...hosts.map(encodeAlternativeName))),
  ];
}

function encodeAlternativeName(host: string): Buffer {
  return isIP(host) === 0 ? encodeTaggedValue(0x82, Buffer.from(host)) : encodeTaggedValue(0x87, encodeAddress(host));
}

function encodeAddress(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // SocketAddress returns the canonical form, in which `::` replaces a run of zero groups.
  const [leftPart = '', rightPart] = new SocketAddress({ address, family: 'ipv6' }).address.split('::');
  const encodeGroups = (part: string) =>
    part
      .split(':')
      .filter((group) => group !== '')
      .flatMap(encodeGroup);
  const [leadingBytes, trailingBytes] = [encodeGroups(leftPart), encodeGroups(rightPart ?? '')];
  return Buffer.from([
    ...leadingBytes,
    ...Array.from({ length: 16 - leadingBytes.length - trailingBytes.length }, () => 0),
    ...trailingBytes,
  ]);
}

/** Encodes a hexadecimal group of an IPv6 address as two bytes, or an IPv4 address at its end as four bytes. */
function encodeGroup(group: string): number[] {
  if (group.includes('.')) return group.split('.').map(Number);
  const groupValue = Number.parseInt(group, 16);
  return [groupValue >> 8, groupValue & 0xff];
}

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { bits, identifier, integer, moment, octets, sequence, tagged, truth } from './der.ts';

/** A key and what certifies it, as a TLS server takes them. */
export type Certified = { readonly key: string; readonly cert: string };

/** What a certificate says. */
export type Claim = {
  /** Host names and addresses that it is for. */
  readonly hosts: readonly string[];
  /** From when, and until when, in milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
};

/** A certificate authority that is made anew with every start, so that to trust it is to trust this one process. */
export type Authority = {
  readonly certificate: string;
  readonly now: number;
  /** What the receiver is reached by. */
  readonly hosts: readonly string[];
  issue(claim: Claim): Certified;
  /** Certified by itself and nobody else. */
  alone(claim: Claim): Certified;
};

export const DAY_MS = 86_400_000;

const ECDSA_WITH_SHA256 = sequence(identifier('1.2.840.10045.4.3.2'));
const COMMON_NAME = '2.5.4.3';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
type Party = { readonly name: string; readonly pair: Pair };

const newPair = (): Pair => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** The host's clock may be an hour off that of whoever checks. */
export const goodFor = (hosts: readonly string[], now: number): Claim => ({
  hosts,
  from: now - DAY_MS,
  until: now + 30 * DAY_MS,
});

export function createAuthority(hosts: readonly string[], now: number): Authority {
  const root: Party = { name: 'Carillon chaos receiver, for tests alone', pair: newPair() };
  const make = (claim: Claim, issuer?: Party): Certified => {
    const subject: Party = { name: 'Carillon chaos receiver', pair: newPair() };
    const cert = certificateOf(subject, issuer ?? subject, claim, leafExtensions(claim));
    return { key: String(subject.pair.privateKey.export({ type: 'pkcs8', format: 'pem' })), cert };
  };
  return {
    certificate: certificateOf(root, root, goodFor([], now), rootExtensions),
    now,
    hosts,
    issue: (claim) => make(claim, root),
    alone: (claim) => make(claim),
  };
}

/** RFC 5280, 4.1. */
function certificateOf(subject: Party, issuer: Party, { from, until }: Claim, own: readonly Buffer[]): string {
  const keys = [
    extension('2.5.29.14', octets(keyId(subject.pair))),
    extension('2.5.29.35', sequence(tagged(0x80, keyId(issuer.pair)))),
  ];
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(keyId(subject.pair)),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(moment(from), moment(until)),
    nameOf(subject),
    spki(subject.pair),
    tagged(0xa3, sequence(...own, ...keys)),
  );
  const signature = sign('sha256', toBeSigned, issuer.pair.privateKey);
  const der = sequence(toBeSigned, ECDSA_WITH_SHA256, bits(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const nameOf = ({ name }: Party) =>
  sequence(tagged(0x31, sequence(identifier(COMMON_NAME), tagged(0x0c, Buffer.from(name)))));

const spki = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'der' });

/** Serves as serial number, too: no two keys have the same. */
const keyId = (pair: Pair) => createHash('sha1').update(spki(pair)).digest();

const extension = (id: string, value: Buffer, critical = false) =>
  sequence(identifier(id), ...(critical ? [truth()] : []), octets(value));

const KEY_USAGE = '2.5.29.15';
const BASIC_CONSTRAINTS = '2.5.29.19';

/** An authority, which signs certificates and lists of revoked ones. */
const rootExtensions: readonly Buffer[] = [
  extension(BASIC_CONSTRAINTS, sequence(truth()), true),
  extension(KEY_USAGE, bits(Buffer.from([0x06]), 1), true),
];

/** A server, which signs handshakes. */
function leafExtensions({ hosts }: Claim): readonly Buffer[] {
  return [
    extension(BASIC_CONSTRAINTS, sequence(), true),
    extension(KEY_USAGE, bits(Buffer.from([0x80]), 7), true),
    extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', sequence(...hosts.map(alternative))),
  ];
}

/** A name, or an address in its bytes. */
function alternative(host: string): Buffer {
  if (!ipaddr.isValid(host)) return tagged(0x82, Buffer.from(host));
  return tagged(0x87, Buffer.from(ipaddr.parse(host).toByteArray()));
}

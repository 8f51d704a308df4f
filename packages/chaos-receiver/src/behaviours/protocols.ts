import type { SecureContextOptions } from 'node:tls';
import {
  type Behaviour,
  type BehaviourDefinition,
  defineClosingResponse,
  defineKeepOpenResponse,
  EMPTY_200,
  type SenderResult,
  toBehaviourList,
} from '../behaviour.ts';
import {
  type CertificateAuthority,
  type CertificateContent,
  createAuthority,
  createValidContent,
  DAY_MS,
} from '../certificates.ts';

/** An empty SETTINGS frame, which is the first frame that an HTTP/2 server sends. */
const HTTP2_SETTINGS = '\0\0\0\x04\0\0\0\0\0';
/** A TLS record with the fatal alert `protocol_version`. */
const TLS_ALERT = '\x15\x03\x01\0\x02\x02\x46';

/** Responses in another protocol than HTTP/1.1. */
export const otherProtocolResponses: readonly Behaviour[] = toBehaviourList({
  garbage: {
    description: 'Sends 1 KiB of random bytes.',
    senderSees: 'protocol',
    run: (connection) =>
      connection.end(Uint8Array.from({ length: 1_024 }, () => 128 + connection.random.integerBelow(128))),
  },
  'nul-bytes': defineClosingResponse('Sends 1 KiB of NUL bytes.', 'protocol', '\0'.repeat(1_024)),
  'http-0.9': defineClosingResponse('Sends a page without a head, as in HTTP/0.9.', 'protocol', '<html>Hello</html>\n'),
  'http-2': defineClosingResponse(
    'Sends the first frame of an HTTP/2 server after the request.',
    'protocol',
    HTTP2_SETTINGS,
  ),
  'http-2-unasked': defineKeepOpenResponse(
    'Sends the first frame of an HTTP/2 server after the connect.',
    'protocol',
    HTTP2_SETTINGS,
    'connected',
  ),
  'tls-alert-in-plain': defineClosingResponse('Sends a TLS alert after a plain request.', 'protocol', TLS_ALERT),
  'request-back': defineClosingResponse(
    'Sends a request instead of a response.',
    'protocol',
    'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ),
  icy: defineClosingResponse('Sends `ICY 200 OK`, as SHOUTcast servers do.', 'protocol', 'ICY 200 OK\r\n\r\n'),
  smtp: defineKeepOpenResponse(
    'Sends the greeting of an SMTP server after the connect.',
    'protocol',
    '220 mail.example ESMTP\r\n',
    'connected',
  ),
  ssh: defineKeepOpenResponse(
    'Sends the greeting of an SSH server after the connect.',
    'protocol',
    'SSH-2.0-OpenSSH_9.9\r\n',
    'connected',
  ),
  echo: {
    description: 'Sends back all bytes that it receives.',
    senderSees: 'protocol',
    startsAt: 'first-bytes',
    async run(connection) {
      connection.socket.pipe(connection.socket);
      await connection.senderClosed;
    },
  },
});

/** Creates a behaviour that completes a TLS handshake with these options and responds 200. */
const defineHandshakeThen200 = (
  description: string,
  senderSees: SenderResult,
  tls: (authority: CertificateAuthority) => SecureContextOptions,
): BehaviourDefinition => ({ description, senderSees, tls, run: (connection) => connection.end(EMPTY_200) });

/** Returns a function that issues a valid certificate, except for the properties that `overrideContent` returns. */
const createCertificateIssuer =
  (overrideContent: (now: number) => Partial<CertificateContent>) => (authority: CertificateAuthority) =>
    authority.issueCertificate({
      ...createValidContent(authority.hosts, authority.createdAt),
      ...overrideContent(authority.createdAt),
    });

export const issueValidCertificate = createCertificateIssuer(() => ({}));

/**
 * Creates a behaviour that does not complete the TLS handshake: it sends other bytes, or stops within the handshake.
 */
const defineIncompleteHandshake = (
  description: string,
  senderSees: SenderResult,
  run: Behaviour['run'],
): BehaviourDefinition => ({
  description,
  senderSees,
  startsAt: 'first-bytes',
  tls: true,
  run,
});

/** Start of a ServerHello in a record of 16,384 bytes, of which the rest never arrives. */
const HANDSHAKE_START = '\x16\x03\x03\x40\0\x02\0\x3f\xfc\x03\x03';

/** Valid and invalid TLS handshakes. The valid ones require that the sender trusts the authority. */
export const tlsBehaviours: readonly Behaviour[] = toBehaviourList({
  'tls-ok': defineHandshakeThen200('Responds 200 with a valid certificate.', 200, issueValidCertificate),
  'tls-1.2': defineHandshakeThen200('Responds 200 over TLS 1.2.', 200, (authority) => ({
    ...issueValidCertificate(authority),
    maxVersion: 'TLSv1.2',
  })),
  'tls-self-signed': defineHandshakeThen200('Presents a self-signed certificate.', 'tls', (authority) =>
    authority.issueSelfSignedCertificate(createValidContent(authority.hosts, authority.createdAt)),
  ),
  'tls-untrusted': defineHandshakeThen200('Presents a certificate of an unknown authority.', 'tls', (authority) =>
    issueValidCertificate(createAuthority(authority.hosts, authority.createdAt)),
  ),
  'tls-expired': defineHandshakeThen200(
    'Presents a certificate that expired yesterday.',
    'tls',
    createCertificateIssuer((now) => ({ validFrom: now - 30 * DAY_MS, validUntil: now - DAY_MS })),
  ),
  'tls-not-yet': defineHandshakeThen200(
    'Presents a certificate that becomes valid tomorrow.',
    'tls',
    createCertificateIssuer((now) => ({ validFrom: now + DAY_MS })),
  ),
  'tls-wrong-name': defineHandshakeThen200(
    'Presents a certificate for another host.',
    'tls',
    createCertificateIssuer(() => ({ hosts: ['wrong.example'] })),
  ),
  'tls-no-name': defineHandshakeThen200(
    'Presents a certificate without a host name.',
    'tls',
    createCertificateIssuer(() => ({ hosts: [] })),
  ),
  'tls-old': defineHandshakeThen200('Supports only TLS 1.0 and 1.1.', 'tls', (authority) => ({
    ...issueValidCertificate(authority),
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  })),
  'tls-no-cipher': defineHandshakeThen200('Supports no cipher that a sender can use.', 'tls', (authority) => ({
    ...issueValidCertificate(authority),
    maxVersion: 'TLSv1.2',
    // No cipher fits: RSA ciphers do not work with an ECDSA key.
    ciphers: 'ECDHE-RSA-AES128-GCM-SHA256',
  })),
  'tls-hang': defineIncompleteHandshake(
    'Never responds to the ClientHello.',
    'timeout',
    (connection) => connection.senderClosed,
  ),
  'tls-drip': defineIncompleteHandshake(
    'Drips the handshake, one byte per `--pace`.',
    'timeout',
    async (connection) => {
      connection.write(HANDSHAKE_START);
      await connection.drip('a'.repeat(16_000));
    },
  ),
  'tls-fin': defineIncompleteHandshake('Closes (FIN) instead of a handshake.', 'reset', (connection) =>
    connection.end(),
  ),
  'tls-rst': defineIncompleteHandshake('Resets (RST) instead of a handshake.', 'reset', (connection) =>
    connection.reset(),
  ),
  'tls-fin-midway': defineIncompleteHandshake('Closes (FIN) within the handshake.', 'reset', (connection) =>
    connection.end(HANDSHAKE_START),
  ),
  'tls-rst-midway': defineIncompleteHandshake('Resets (RST) within the handshake.', 'reset', (connection) =>
    connection.reset(HANDSHAKE_START),
  ),
  'tls-plain': defineIncompleteHandshake(
    'Responds to the ClientHello with a plain `400 Bad Request`.',
    'tls',
    (connection) => connection.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  ),
  'tls-plain-200': defineIncompleteHandshake(
    'Responds to the ClientHello with a plain `200 OK`.',
    'tls',
    (connection) => connection.end(EMPTY_200),
  ),
  'tls-alert': defineIncompleteHandshake('Sends the alert `handshake_failure`.', 'tls', (connection) =>
    connection.end('\x15\x03\x03\0\x02\x02\x28'),
  ),
  'tls-goodbye': defineIncompleteHandshake(
    'Sends the alert `close_notify` instead of a handshake.',
    'reset',
    (connection) => connection.end('\x15\x03\x03\0\x02\x01\0'),
  ),
  'tls-garbage': defineIncompleteHandshake(
    'Responds to the ClientHello with 1 KiB of random bytes.',
    'tls',
    (connection) => connection.end(Uint8Array.from({ length: 1_024 }, () => 128 + connection.random.integerBelow(128))),
  ),
  'tls-then-hang': {
    description: 'Completes the handshake and never responds.',
    senderSees: 'timeout',
    tls: issueValidCertificate,
    run: (connection) => connection.senderClosed,
  },
  'tls-then-rst': {
    description: 'Completes the handshake and resets (RST) after the request.',
    senderSees: 'reset',
    tls: issueValidCertificate,
    run: (connection) => connection.reset(),
  },
  'tls-no-goodbye': {
    description: 'Responds 200 with half of the body, then closes TCP (FIN) without `close_notify`.',
    senderSees: 200,
    tls: issueValidCertificate,
    async run(connection) {
      connection.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345');
      await connection.wait(Math.min(100, connection.deadlineMs / 5));
      connection.closeTcp();
    },
  },
});

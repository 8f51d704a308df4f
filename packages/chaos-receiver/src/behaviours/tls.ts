import type { SecureContextOptions } from 'node:tls';
import { type Behaviour, OK, rows, type Seen } from '../behaviour.ts';
import { type Authority, type Claim, createAuthority, DAY_MS, goodFor } from '../certificates.ts';

const answer: Pick<Behaviour, 'act'> = { act: (visit) => visit.end(OK) };

/** Answers 200 to whoever takes its handshake. */
const shown = (
  says: string,
  sees: Seen,
  tls: (authority: Authority) => SecureContextOptions,
): Omit<Behaviour, 'slug'> => ({ says, sees, tls, ...answer });

const issued = (change: (claim: Claim, authority: Authority) => Partial<Claim>) => (authority: Authority) => {
  const good = goodFor(authority.hosts, authority.now);
  return authority.issue({ ...good, ...change(good, authority) });
};

export const good = issued(() => ({}));

/** Says something in place of a handshake, or in the middle of one. */
const raw = (says: string, sees: Seen, act: Behaviour['act']): Omit<Behaviour, 'slug'> => ({
  says,
  sees,
  at: 'greeted',
  tls: true,
  act,
});

/** The beginning of what a server says: a record of 16,384 bytes that never comes. */
const BEGUN = '\x16\x03\x03\x40\0\x02\0\x3f\xfc\x03\x03';

/** TLS, from a handshake that is good to none at all. The authority of those that are good has to be trusted. */
export const handshakes: readonly Behaviour[] = rows({
  'tls-ok': shown('Answers 200 behind a good certificate.', 200, good),
  'tls-1.2': shown('Answers 200 in TLS 1.2.', 200, (authority) => ({ ...good(authority), maxVersion: 'TLSv1.2' })),
  'tls-self-signed': shown('Shows a certificate that nobody has signed but itself.', 'tls', (authority) =>
    authority.alone(goodFor(authority.hosts, authority.now)),
  ),
  'tls-untrusted': shown('Shows a certificate of an authority that nobody knows.', 'tls', (authority) =>
    good(createAuthority(authority.hosts, authority.now)),
  ),
  'tls-expired': shown(
    'Shows a certificate that ended yesterday.',
    'tls',
    issued((_, { now }) => ({ from: now - 30 * DAY_MS, until: now - DAY_MS })),
  ),
  'tls-not-yet': shown(
    'Shows a certificate that begins tomorrow.',
    'tls',
    issued((_, { now }) => ({ from: now + DAY_MS })),
  ),
  'tls-wrong-name': shown(
    'Shows a certificate of another host.',
    'tls',
    issued(() => ({ hosts: ['wrong.example'] })),
  ),
  'tls-no-name': shown(
    'Shows a certificate that names no host.',
    'tls',
    issued(() => ({ hosts: [] })),
  ),
  'tls-old': shown('Speaks TLS 1.0 and 1.1 alone.', 'tls', (authority) => ({
    ...good(authority),
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  })),
  'tls-no-cipher': shown('Has no cipher in common with anybody.', 'tls', (authority) => ({
    ...good(authority),
    maxVersion: 'TLSv1.2',
    // For a key of another sort than the one it has.
    ciphers: 'ECDHE-RSA-AES128-GCM-SHA256',
  })),
  'tls-hang': raw('Never answers the first words of a handshake.', 'timeout', (visit) => visit.left),
  'tls-drip': raw('Answers a handshake one byte at the pace of `--pace`.', 'timeout', async (visit) => {
    visit.write(BEGUN);
    await visit.drip('a'.repeat(16_000));
  }),
  'tls-fin': raw('Closes (FIN) in place of a handshake.', 'reset', (visit) => visit.end()),
  'tls-rst': raw('Resets (RST) in place of a handshake.', 'reset', (visit) => visit.reset()),
  'tls-fin-midway': raw('Closes (FIN) in the middle of a handshake.', 'reset', (visit) => visit.end(BEGUN)),
  'tls-rst-midway': raw('Resets (RST) in the middle of a handshake.', 'reset', (visit) => visit.reset(BEGUN)),
  'tls-plain': raw('Answers a handshake in plain text: `400 Bad Request`.', 'tls', (visit) =>
    visit.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  ),
  'tls-plain-200': raw('Answers a handshake in plain text: `200 OK`.', 'tls', (visit) => visit.end(OK)),
  'tls-alert': raw('Answers a handshake with `handshake_failure`.', 'tls', (visit) =>
    visit.end('\x15\x03\x03\0\x02\x02\x28'),
  ),
  'tls-goodbye': raw('Answers a handshake with `close_notify`, a goodbye.', 'reset', (visit) =>
    visit.end('\x15\x03\x03\0\x02\x01\0'),
  ),
  'tls-garbage': raw('Answers a handshake with a kilobyte of chance.', 'tls', (visit) =>
    visit.end(Uint8Array.from({ length: 1_024 }, () => 128 + visit.chance.below(128))),
  ),
  'tls-then-hang': {
    says: 'Completes the handshake and never answers.',
    sees: 'timeout',
    tls: good,
    act: (visit) => visit.left,
  },
  'tls-then-rst': {
    says: 'Completes the handshake and resets (RST) when the request is here.',
    sees: 'reset',
    tls: good,
    act: (visit) => visit.reset(),
  },
  'tls-no-goodbye': {
    says: 'Answers 200 and half of its body over TLS, and closes below it (FIN), without a goodbye.',
    sees: 200,
    tls: good,
    async act(visit) {
      visit.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345');
      await visit.wait(Math.min(100, visit.deadlineMs / 5));
      visit.cut();
    },
  },
});

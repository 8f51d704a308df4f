import { createTransport, type NodemailerError } from 'nodemailer';
import type { Message } from './message.ts';
import type { Outcome } from './retry-policy.ts';
import { isPlainAddress, type MailServer, type Sender } from './smtp-url.ts';

/** A message with its recipient, Message-ID and date. */
export type Addressed = Message & {
  readonly to: { readonly name: string; readonly address: string };
  /** The same for every try, so that mail programs detect duplicates. */
  readonly messageId: string;
  readonly date: Date;
};

/** A client for the operator's mail server. */
export type Post = {
  /** Never rejects. */
  send(letter: Addressed, signal: AbortSignal): Promise<Outcome>;
  /** Connects and signs in; returns the error message, or undefined on success. */
  check(): Promise<string | undefined>;
};

/** Timeout of each SMTP step; the caller of `send` limits the whole. */
const STEP_TIMEOUT_MS = 10_000;

/** The longest possible timer: no timeout. */
const NEVER_MS = 2 ** 31 - 1;

/** Creates the SMTP client, which only connects to the configured server. */
export function createPost(server: MailServer, from: Sender, stepMs = STEP_TIMEOUT_MS): Post {
  const { host, port, tls, login } = server;
  const options = {
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    dnsTimeout: stepMs,
    // How long closing a connection may take.
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  // No inactivity timeout: after a pause of this process, nodemailer would give up before it reads the response. The
  // caller's signal limits the whole.
  const transport = createTransport({ ...options, socketTimeout: NEVER_MS });
  return {
    async send({ to, messageId, date, subject, text, html }, signal) {
      if (!isPlainAddress(to.address))
        return { is: 'refused', reason: 'the address of the user is not a plain address' };
      const headers = { 'Auto-Submitted': 'auto-generated' };
      const envelope = { from: from.address, to: [to.address] };
      try {
        await transport.sendMail({ from, to, envelope, messageId, date, subject, text, html, headers, signal });
        return { is: 'taken' };
      } catch (error) {
        return outcomeOf(error as NodemailerError);
      }
    },
    check: () =>
      createTransport({ ...options, socketTimeout: 2 * stepMs })
        .verify()
        .then(
          () => undefined,
          (error: NodemailerError) => error.message,
        ),
  };
}

/** Error codes before the mail was transmitted. */
const BEFORE_TRANSMISSION: readonly unknown[] = [
  'EDNS',
  'ETLS',
  'EAUTH',
  'CONNECT_TIMEOUT',
  'GREETING_TIMEOUT',
  'UPGRADE_TIMEOUT',
];

/** System calls on an established connection; with any other one, ESOCKET means that connecting or TLS failed. */
const CONNECTION_PHASES: readonly unknown[] = ['read', 'write'];

/** A rejection of the sender, not of the recipient (RFC 3463, 3.8). */
const NOT_FOR_US = /^5\d\d[ -]5\.7\./;

function outcomeOf(error: NodemailerError): Outcome {
  const { code, command, message: reason, response = '' } = error;
  // The operator has to fix a rejected sender or login, so it does not count as a rejection of the mail.
  const isOfThisMail = (command === 'RCPT TO' && !NOT_FOR_US.test(response)) || command === 'DATA';
  if (isOfThisMail && error.permanent === true) return { is: 'refused', reason };
  const untaken =
    error.responseCode !== undefined ||
    BEFORE_TRANSMISSION.includes(error.timeoutType ?? code) ||
    (code === 'ESOCKET' && !CONNECTION_PHASES.includes(error.syscall));
  return { is: 'failed', reason, untaken };
}

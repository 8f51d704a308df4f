import { createTransport, type NodemailerError } from 'nodemailer';
import { isPlainAddress, type MailServer, type Sender } from './mail-options.ts';
import type { MailMessage } from './message.ts';
import type { SendOutcome } from './queue.ts';

/** A message with its recipient, Message-ID and date. */
export type AddressedMessage = MailMessage & {
  readonly to: { readonly name: string; readonly address: string };
  /** The same for every try of a mail, so that mail programs detect duplicates. */
  readonly messageId: string;
  readonly date: Date;
};

/** A client for the operator's mail server. */
export type MailTransport = {
  /** Sends a mail. Never rejects: a failure is an outcome. */
  send(message: AddressedMessage, signal: AbortSignal): Promise<SendOutcome>;
  /** Checks the connection and the login. Returns the error message, or undefined on success. */
  checkConnection(): Promise<string | undefined>;
};

/** Timeout of each SMTP step. The caller of `send` limits the total time. */
const SMTP_STEP_TIMEOUT_MS = 10_000;

/** The longest delay of a Node timer (25 days), which stands for "no timeout". */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Creates the SMTP client, which only connects to the configured server. */
export function createMailTransport(
  server: MailServer,
  sender: Sender,
  stepTimeoutMs = SMTP_STEP_TIMEOUT_MS,
): MailTransport {
  const { host, port, tls, login } = server;
  const options = {
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
    connectionTimeout: stepTimeoutMs,
    greetingTimeout: stepTimeoutMs,
    dnsTimeout: stepTimeoutMs,
    // Timeout for closing the connection.
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  // No inactivity timeout: after a pause of this process, nodemailer would give up before it reads the response. The
  // caller's signal limits the total time.
  const transport = createTransport({ ...options, socketTimeout: MAX_TIMER_MS });
  return {
    async send({ to, messageId, date, subject, text, html }, signal) {
      if (!isPlainAddress(to.address))
        return { is: 'refused', reason: 'the address of the user is not a plain address' };
      const headers = { 'Auto-Submitted': 'auto-generated' };
      const envelope = { from: sender.address, to: [to.address] };
      try {
        await transport.sendMail({ from: sender, to, envelope, messageId, date, subject, text, html, headers, signal });
        return { is: 'taken' };
      } catch (error) {
        return toSendOutcome(error as NodemailerError);
      }
    },
    checkConnection: () =>
      createTransport({ ...options, socketTimeout: 2 * stepTimeoutMs })
        .verify()
        .then(
          () => undefined,
          (error: NodemailerError) => error.message,
        ),
  };
}

/** Codes of errors that can only happen before the mail is transmitted. */
const PRE_TRANSMISSION_CODES: readonly unknown[] = [
  'EDNS',
  'ETLS',
  'EAUTH',
  'CONNECT_TIMEOUT',
  'GREETING_TIMEOUT',
  'UPGRADE_TIMEOUT',
];

/**
 * System calls on an established connection. ESOCKET with any other system call means that the connection or TLS was
 * not established.
 */
const CONNECTED_SYSCALLS: readonly unknown[] = ['read', 'write'];

/** Matches SMTP responses that reject the sender, not the recipient (RFC 3463, 3.8). */
const SENDER_REJECTION_PATTERN = /^5\d\d[ -]5\.7\./;

function toSendOutcome(error: NodemailerError): SendOutcome {
  const { code, command, message: reason, response = '' } = error;
  // A rejected sender or login does not count as a rejection of the mail, because the operator can correct it.
  const isMailRejection = (command === 'RCPT TO' && !SENDER_REJECTION_PATTERN.test(response)) || command === 'DATA';
  if (isMailRejection && error.permanent === true) return { is: 'refused', reason };
  const isNotAccepted =
    error.responseCode !== undefined ||
    PRE_TRANSMISSION_CODES.includes(error.timeoutType ?? code) ||
    (code === 'ESOCKET' && !CONNECTED_SYSCALLS.includes(error.syscall));
  return { is: 'failed', reason, isNotAccepted };
}

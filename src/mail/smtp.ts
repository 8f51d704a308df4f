import { createTransport, type NodemailerError } from 'nodemailer';
import type { Message } from './message.ts';
import type { Outcome } from './retry-policy.ts';
import { isPlainAddress, type MailServer, type Sender } from './smtp-url.ts';

/** A letter with all that stands on its envelope. */
export type Addressed = Message & {
  readonly to: { readonly name: string; readonly address: string };
  /** The same at every try, so that who gets it twice can know. */
  readonly messageId: string;
  readonly date: Date;
};

/** The way to the operator's mail server. */
export type Post = {
  /** Never rejects. */
  send(letter: Addressed, signal: AbortSignal): Promise<Outcome>;
  /** Connects and signs in; what is wrong, or undefined. */
  check(): Promise<string | undefined>;
};

/** How long each step of a conversation may take; whoever sends sets a limit to the whole of it. */
const STEP_MS = 10_000;

/** The longest timer there is. */
const NEVER_MS = 2 ** 31 - 1;

/** The one place that speaks SMTP: to the server that the operator has named, and to no other. */
export function createPost(server: MailServer, from: Sender, stepMs = STEP_MS): Post {
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
    // Its end is ours to wait for no longer than that.
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  // Silence is cut by whoever sends: after a pause of this process nodemailer would give up before it reads the answer.
  const transport = createTransport({ ...options, socketTimeout: NEVER_MS });
  return {
    async send({ to, messageId, date, subject, text, html }, signal) {
      if (!isPlainAddress(to.address)) return { is: 'refused', reason: 'the address of the user is no plain one' };
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

/** What goes wrong before a mail is handed over. */
const BEFORE: readonly unknown[] = ['EDNS', 'ETLS', 'EAUTH', 'CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'UPGRADE_TIMEOUT'];

/** What goes wrong on a connection that stands; on another one, ESOCKET is that there is none, or no trust in it. */
const CONNECTION_PHASES: readonly unknown[] = ['read', 'write'];

/** A word on who may send through the server (RFC 3463, 3.8), and none on whom to. */
const NOT_FOR_US = /^5\d\d[ -]5\.7\./;

function outcomeOf(error: NodemailerError): Outcome {
  const { code, command, message: reason, response = '' } = error;
  // What the server says of a sender or of a sign-in is for the operator to mend, and counts against no mail.
  const isOfThisMail = (command === 'RCPT TO' && !NOT_FOR_US.test(response)) || command === 'DATA';
  if (isOfThisMail && error.permanent === true) return { is: 'refused', reason };
  const untaken =
    error.responseCode !== undefined ||
    BEFORE.includes(error.timeoutType ?? code) ||
    (code === 'ESOCKET' && !CONNECTION_PHASES.includes(error.syscall));
  return { is: 'failed', reason, untaken };
}

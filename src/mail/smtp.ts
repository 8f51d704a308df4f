import { createTransport, type NodemailerError } from 'nodemailer';
import { isLoopback } from '../loopback.ts';
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

/** The operator's mail server. */
export type MailServer = {
  readonly host: string;
  readonly port: number;
  /** `implicit`: TLS from the first byte; `starttls`: STARTTLS is required; `none`: no TLS. */
  readonly tls: 'implicit' | 'starttls' | 'none';
  readonly login: { readonly user: string; readonly password: string } | undefined;
};

/** The sender of mails. */
export type Sender = { readonly name: string; readonly address: string };

/** The parsed value (undefined for an empty text), or an error text that is printed after the name of the option. */
type ParseResult<T> = { value: T | undefined } | { fault: string };

const SMTP_URL_ERROR = 'must be an address such as smtp://user:password@mail.example.com:587, or smtps://…';

/** Parses `--smtp-url`. By default, TLS is required unless the host is this machine's loopback. */
export function parseMailServer(text: string): ParseResult<MailServer> {
  if (text === '') return { value: undefined };
  const url = URL.parse(text);
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (url === null || !/^smtps?:$/.test(url.protocol) || !/^[\w.:-]+$/.test(host)) return { fault: SMTP_URL_ERROR };
  if (!['', '/'].includes(url.pathname) || url.hash !== '')
    return { fault: `${SMTP_URL_ERROR}; write characters such as / or # in a password as %2F or %23` };
  const login = parseLogin(url);
  if (login === 'unreadable')
    return { fault: `${SMTP_URL_ERROR}; user name and password come together, percent-encoded` };
  const isImplicitTls = url.protocol === 'smtps:';
  const tlsOption = url.searchParams.get('tls') ?? (isImplicitTls || !isLoopback(host) ? 'required' : 'off');
  if (
    [...url.searchParams.keys()].join() !== (url.search === '' ? '' : 'tls') ||
    !['required', 'off'].includes(tlsOption)
  )
    return { fault: 'may only have the query ?tls=required or ?tls=off' };
  if (isImplicitTls && tlsOption === 'off') return { fault: 'must not combine smtps://, which is TLS, with ?tls=off' };
  return {
    value: {
      host,
      port: url.port === '' ? (isImplicitTls ? 465 : 587) : Number(url.port),
      tls: isImplicitTls ? 'implicit' : tlsOption === 'required' ? 'starttls' : 'none',
      login,
    },
  };
}

function parseLogin({ username, password }: URL): MailServer['login'] | 'unreadable' {
  if (username === '' && password === '') return undefined;
  try {
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return login.user === '' || login.password === '' ? 'unreadable' : login;
  } catch {
    return 'unreadable';
  }
}

/** Formats a mail server for logs and status output, without user name and password. */
export function formatMailServer(server: MailServer | undefined): string {
  if (server === undefined) return '';
  const { host, port, tls, login } = server;
  const scheme = tls === 'implicit' ? 'smtps' : 'smtp';
  const userInfo = login === undefined ? '' : '…@';
  return `${scheme}://${userInfo}${host.includes(':') ? `[${host}]` : host}:${port}${tls === 'none' ? '?tls=off' : ''}`;
}

/** A pattern for e-mail addresses without quotes, comments, lists and routes, which programs parse differently. */
const ADDRESS_PATTERN = String.raw`[^\s@<>()[\]\\,;:"\x00-\x1f\x7f]+@[^\s@<>()[\]\\,;:"\x00-\x1f\x7f]+`;
const PLAIN_ADDRESS_PATTERN = new RegExp(`^${ADDRESS_PATTERN}$`);
const NAMED_ADDRESS_PATTERN = new RegExp(`^([^<>"\\x00-\\x1f\\x7f]*)<(${ADDRESS_PATTERN})>$`);

/** Whether a text is unambiguously the address of one mailbox. */
export function isPlainAddress(text: string): boolean {
  return PLAIN_ADDRESS_PATTERN.test(text);
}

/** Parses `--mail-from`: an address, or a name with the address in angle brackets. */
export function parseSender(text: string): ParseResult<Sender> {
  if (text === '') return { value: undefined };
  if (isPlainAddress(text)) return { value: { name: '', address: text } };
  const [, name = '', address] = NAMED_ADDRESS_PATTERN.exec(text) ?? [];
  if (address === undefined) return { fault: 'must be an address such as Carillon <carillon@example.com>' };
  return { value: { name: name.trim(), address } };
}

export function formatSender(sender: Sender | undefined): string {
  if (sender === undefined) return '';
  return sender.name === '' ? sender.address : `${sender.name} <${sender.address}>`;
}

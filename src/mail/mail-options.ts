import { isLoopback } from '../loopback.ts';

// Parsers of the options of outgoing mail. They are apart from the client, so that a process without mail does not load
// nodemailer.

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

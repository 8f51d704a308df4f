import { isLoopback } from '../loopback.ts';

/** The operator's mail server. */
export type MailServer = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, required STARTTLS, or no TLS. */
  readonly tls: 'implicit' | 'starttls' | 'none';
  readonly login: { readonly user: string; readonly password: string } | undefined;
};

/** The sender of mails. */
export type Sender = { readonly name: string; readonly address: string };

type Parsed<T> = { value: T | undefined } | { fault: string };

const EXAMPLE = 'must be an address such as smtp://user:password@mail.example.com:587, or smtps://…';

/** Parses `--smtp-url`. By default, TLS is required unless the host is this machine's loopback. */
export function parseMailServer(text: string): Parsed<MailServer> {
  if (text === '') return { value: undefined };
  const url = URL.parse(text);
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (url === null || !/^smtps?:$/.test(url.protocol) || !/^[\w.:-]+$/.test(host)) return { fault: EXAMPLE };
  if (!['', '/'].includes(url.pathname) || url.hash !== '')
    return { fault: `${EXAMPLE}; write characters such as / or # in a password as %2F or %23` };
  const login = loginIn(url);
  if (login === 'unreadable') return { fault: `${EXAMPLE}; user name and password come together, percent-encoded` };
  const isImplicit = url.protocol === 'smtps:';
  const tls = url.searchParams.get('tls') ?? (isImplicit || !isLoopback(host) ? 'required' : 'off');
  if ([...url.searchParams.keys()].join() !== (url.search === '' ? '' : 'tls') || !['required', 'off'].includes(tls))
    return { fault: 'may only have the query ?tls=required or ?tls=off' };
  if (isImplicit && tls === 'off') return { fault: 'must not combine smtps://, which is TLS, with ?tls=off' };
  return {
    value: {
      host,
      port: url.port === '' ? (isImplicit ? 465 : 587) : Number(url.port),
      tls: isImplicit ? 'implicit' : tls === 'required' ? 'starttls' : 'none',
      login,
    },
  };
}

function loginIn({ username, password }: URL): MailServer['login'] | 'unreadable' {
  if (username === '' && password === '') return undefined;
  try {
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
    return login.user === '' || login.password === '' ? 'unreadable' : login;
  } catch {
    return 'unreadable';
  }
}

/** A mail server for logs and status output, without user name and password. */
export function showMailServer(server: MailServer | undefined): string {
  if (server === undefined) return '';
  const { host, port, tls, login } = server;
  const scheme = tls === 'implicit' ? 'smtps' : 'smtp';
  const userInfo = login === undefined ? '' : '…@';
  return `${scheme}://${userInfo}${host.includes(':') ? `[${host}]` : host}:${port}${tls === 'none' ? '?tls=off' : ''}`;
}

/** Addresses without quotes, comments, lists and routes, which programs parse differently. */
const ADDRESS = String.raw`[^\s@<>()[\]\\,;:"\x00-\x1f\x7f]+@[^\s@<>()[\]\\,;:"\x00-\x1f\x7f]+`;
const PLAIN = new RegExp(`^${ADDRESS}$`);
const NAMED = new RegExp(`^([^<>"\\x00-\\x1f\\x7f]*)<(${ADDRESS})>$`);

/** Whether an address is unambiguously one mailbox. */
export function isPlainAddress(text: string): boolean {
  return PLAIN.test(text);
}

/** Parses `--mail-from`: an address, or a name with the address in angle brackets. */
export function parseSender(text: string): Parsed<Sender> {
  if (text === '') return { value: undefined };
  if (isPlainAddress(text)) return { value: { name: '', address: text } };
  const [, name = '', address] = NAMED.exec(text) ?? [];
  if (address === undefined) return { fault: 'must be an address such as Carillon <carillon@example.com>' };
  return { value: { name: name.trim(), address } };
}

export function showSender(sender: Sender | undefined): string {
  if (sender === undefined) return '';
  return sender.name === '' ? sender.address : `${sender.name} <${sender.address}>`;
}

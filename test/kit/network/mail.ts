import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { certificate, privateKey } from './tls.ts';

/** A mail as received. */
export type ReceivedMail = {
  /** Recipient in the SMTP envelope. */
  readonly to: string;
  readonly from: string;
  /** The received bytes, unchanged. */
  readonly raw: string;
  /** Unfolded header values, by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly html: string;
  /** Whether the mail arrived over TLS. */
  readonly secure: boolean;
  /** The user name with which the client authenticated; undefined without authentication. */
  readonly user: string | undefined;
};

/**
 * Reply of the server to an SMTP command: `take` accepts it, `hang` sends nothing, a number is the code of an error.
 */
export type SmtpReply = 'take' | 'hang' | number;

export type TestMailServer = {
  readonly port: number;
  /** All mails received, accepted or not. */
  readonly receivedMails: readonly ReceivedMail[];
  /** The accepted mails. */
  readonly acceptedMails: readonly ReceivedMail[];
  /** Returns the number of connections up to now. */
  readonly countConnections: () => number;
  /** Returns the reply to RCPT TO. */
  replyToRecipient: (address: string) => SmtpReply;
  /** Returns the reply to DATA. */
  replyToData: (mail: ReceivedMail) => SmtpReply;
  close(): Promise<void>;
};

const ERROR_TEXT_BY_CODE: Readonly<Record<string, string>> = {
  '450': 'Try later',
  '550': 'No such user here',
  '554': '5.7.1 Not wanted',
};

/**
 * Starts an SMTP server on loopback with scripted replies. It offers STARTTLS with the test certificate and
 * accepts the user `carillon` with the password `pass:word/#1`.
 */
export async function startMailServer(
  context: Cleanup,
  options: SMTPServerOptions & { port?: number } = {},
): Promise<TestMailServer> {
  const { port = 0, ...more } = options;
  const [receivedMails, acceptedMails]: [ReceivedMail[], ReceivedMail[]] = [[], []];
  let connectionCount = 0;
  const respond = (reply: SmtpReply, callback: (error?: Error) => void) => {
    if (reply === 'take') callback();
    else if (reply !== 'hang')
      callback(Object.assign(new Error(ERROR_TEXT_BY_CODE[reply] ?? 'No'), { responseCode: reply }));
  };
  const server = new SMTPServer({
    key: privateKey,
    cert: certificate,
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 50,
    onConnect(_session, callback) {
      connectionCount += 1;
      callback();
    },
    onAuth({ username, password }, _session, callback) {
      if (username === 'carillon' && password === 'pass:word/#1') callback(null, { user: username });
      else callback(new Error('Invalid user name or password'));
    },
    onRcptTo({ address }, _session, callback) {
      respond(mailServer.replyToRecipient(address), callback);
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        const { envelope, secure, user } = session;
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address).join(' and ');
        const mail = { ...parseMail(Buffer.concat(chunks).toString('latin1')), from, to, secure, user };
        receivedMails.push(mail);
        const reply = mailServer.replyToData(mail);
        if (reply === 'take') acceptedMails.push(mail);
        respond(reply, callback);
      });
    },
    ...more,
  });
  // Ignore errors of connections: clients may disconnect at any time.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= new Promise<void>((resolve) => server.close(() => resolve()));
    return closed;
  };
  atEnd(context, close);
  const mailServer: TestMailServer = {
    port: (server.server.address() as AddressInfo).port,
    receivedMails,
    acceptedMails,
    countConnections: () => connectionCount,
    replyToRecipient: () => 'take',
    replyToData: () => 'take',
    close,
  };
  return mailServer;
}

type MimePart = Pick<ReceivedMail, 'headers'> & { readonly body: string };

function parseMail(raw: string): Pick<ReceivedMail, 'raw' | 'headers' | 'text' | 'html'> {
  const { headers, body } = parsePart(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1];
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1).map(parsePart);
  const decodePartOfType = (type: string) => {
    const part = parts.find((one) => one.headers.get('content-type')?.startsWith(type));
    return part === undefined ? '' : decodeBody(part);
  };
  return { raw, headers, text: decodePartOfType('text/plain'), html: decodePartOfType('text/html') };
}

function parsePart(raw: string): MimePart {
  const trimmed = raw.replace(/^\r\n/, '');
  const end = trimmed.indexOf('\r\n\r\n');
  const lines = trimmed
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { headers, body: trimmed.slice(end + 4) };
}

function decodeBody({ headers, body }: MimePart): string {
  const encoding = headers.get('content-transfer-encoding');
  const bytes =
    encoding === 'base64'
      ? Buffer.from(body, 'base64')
      : Buffer.from(encoding === 'quoted-printable' ? decodeQuotedPrintable(body) : body, 'latin1');
  return bytes.toString().replaceAll('\r\n', '\n').trim();
}

function decodeQuotedPrintable(body: string): string {
  return body
    .replace(/=\r\n/g, '')
    .replace(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { isLoopback } from '../../loopback.ts';
import { renderTestMessage } from '../../mail/message.ts';
import { formatMailServer, isPlainAddress, type MailTransport, type Sender } from '../../mail/smtp.ts';
import { baseUrlOf } from '../client/connect.ts';
import type { Finding } from './doctor-checks.ts';

const TIMEOUT_MS = 30_000;

/**
 * Connects to the mail server and signs in; with `to`, also sends a test mail. Returns no finding if neither a mail
 * server is configured nor `to` is given.
 */
export async function checkMail(config: Config, offline: boolean, to: string | undefined): Promise<readonly Finding[]> {
  const { smtpUrl: server, mailFrom: from } = config;
  const check = 'mail';
  if (server === undefined || from === undefined)
    return to === undefined ? [] : [{ check, state: 'fault', message: '--smtp-url is not set, so no mail is sent' }];
  const where = formatMailServer(server);
  if (offline) return [{ check, state: 'ok', message: `${where}, not checked, because of --offline` }];
  if (to !== undefined && !isPlainAddress(to))
    return [{ check, state: 'fault', message: '--mail-to must be an address such as me@example.com' }];
  const { createMailTransport } = await import('../../mail/smtp.ts');
  const post = createMailTransport(server, from);
  const failure = to === undefined ? await post.check() : await sendTestMail(post, from, to, baseUrlOf(config));
  if (failure !== undefined)
    return [
      { check, state: 'fault', message: `${where} accepts no mail: ${failure}; check --smtp-url and --mail-from` },
    ];
  if (server.tls === 'none' && !isLoopback(server.host))
    return [
      { check, state: 'warning', message: `${where}: mails and credentials can be read in transit; remove ?tls=off` },
    ];
  return [
    { check, state: 'ok', message: `${where} ${to === undefined ? 'accepts the login' : `accepted a mail to ${to}`}` },
  ];
}

/** Sends a test mail. Returns the reason if it fails, and undefined if it succeeds. */
async function sendTestMail(
  post: MailTransport,
  from: Sender,
  address: string,
  baseUrl: string,
): Promise<string | undefined> {
  const messageId = `<carillon.trial.${systemClock.now()}@${from.address.split('@')[1]}>`;
  const message = {
    ...renderTestMessage(baseUrl),
    to: { name: '', address },
    messageId,
    date: new Date(systemClock.now()),
  };
  const deadline = new AbortController();
  const cancel = systemClock.after(TIMEOUT_MS, () => deadline.abort());
  const outcome = await post.send(message, deadline.signal);
  cancel();
  return outcome.is === 'taken' ? undefined : outcome.reason;
}

import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { isLoopback } from '../../loopback.ts';
import { formatMailServer, isPlainAddress, type Sender } from '../../mail/mail-options.ts';
import { renderTestMessage } from '../../mail/message.ts';
import type { MailTransport } from '../../mail/smtp.ts';
import { baseUrlOf } from '../client/connection-options.ts';
import type { Finding } from './doctor-checks.ts';

const SEND_TIMEOUT_MS = 30_000;

/**
 * Connects to the mail server and signs in, and sends a test mail if a recipient is given. If neither a mail server nor
 * a recipient is set, nothing is checked and the list of findings is empty.
 */
export async function checkMailServer(
  config: Config,
  isOffline: boolean,
  recipient: string | undefined,
): Promise<readonly Finding[]> {
  const { smtpUrl: mailServer, mailFrom: sender } = config;
  const checkName = 'mail';
  if (mailServer === undefined || sender === undefined)
    return recipient === undefined
      ? []
      : [{ check: checkName, state: 'fault', message: '--smtp-url is not set, so no mail is sent' }];
  const serverText = formatMailServer(mailServer);
  if (isOffline)
    return [{ check: checkName, state: 'ok', message: `${serverText}, not checked, because of --offline` }];
  if (recipient !== undefined && !isPlainAddress(recipient))
    return [{ check: checkName, state: 'fault', message: '--mail-to must be an address such as me@example.com' }];
  const { createMailTransport } = await import('../../mail/smtp.ts');
  const mailTransport = createMailTransport(mailServer, sender);
  const failureReason =
    recipient === undefined
      ? await mailTransport.checkConnection()
      : await sendTestMail(mailTransport, sender, recipient, baseUrlOf(config));
  if (failureReason !== undefined)
    return [
      {
        check: checkName,
        state: 'fault',
        message: `${serverText} accepts no mail: ${failureReason}; check --smtp-url and --mail-from`,
      },
    ];
  if (mailServer.tls === 'none' && !isLoopback(mailServer.host))
    return [
      {
        check: checkName,
        state: 'warning',
        message: `${serverText}: mails and credentials can be read in transit; remove ?tls=off`,
      },
    ];
  return [
    {
      check: checkName,
      state: 'ok',
      message: `${serverText} ${recipient === undefined ? 'accepts the login' : `accepted a mail to ${recipient}`}`,
    },
  ];
}

/** Sends a test mail. Returns the reason if it fails, and undefined if it succeeds. */
async function sendTestMail(
  mailTransport: MailTransport,
  sender: Sender,
  recipient: string,
  baseUrl: string,
): Promise<string | undefined> {
  const messageId = `<carillon.trial.${systemClock.now()}@${sender.address.split('@')[1]}>`;
  const mailMessage = {
    ...renderTestMessage(baseUrl),
    to: { name: '', address: recipient },
    messageId,
    date: new Date(systemClock.now()),
  };
  const timeoutController = new AbortController();
  const cancelTimeout = systemClock.after(SEND_TIMEOUT_MS, () => timeoutController.abort());
  const sendOutcome = await mailTransport.send(mailMessage, timeoutController.signal);
  cancelTimeout();
  return sendOutcome.is === 'taken' ? undefined : sendOutcome.reason;
}

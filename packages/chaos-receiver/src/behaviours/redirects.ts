import { type Behaviour, type BehaviourBody, behavioursOf, emptyResponse } from '../behaviour.ts';
import type { Connection } from '../connection.ts';

const redirect = (
  description: string,
  status: number,
  location: string | ((connection: Connection) => string),
): BehaviourBody => ({
  description,
  seenAs: status,
  run(connection) {
    const target = typeof location === 'string' ? location : location(connection);
    connection.end(emptyResponse(`${status} Elsewhere`, `Location: ${target}`));
  },
});

/** Every port responds 200 here, whatever its script: a sender that follows a redirect shows up as a success. */
export const FOLLOWED_PATH = '/200?followed';

const sameReceiver = ({ request }: Connection) => `http://${request?.headers.host ?? 'localhost'}${FOLLOWED_PATH}`;

export const redirects: readonly Behaviour[] = behavioursOf({
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status) => [
      `redirect-${status}`,
      redirect(`Responds ${status} with the URL of a 200 on the same receiver.`, status, sameReceiver),
    ]),
  ),
  'redirect-loop': redirect('Responds 302 with its own URL.', 302, ({ request }) => request?.path ?? '/'),
  'redirect-file': redirect('Responds 302 with `file:///etc/passwd`.', 302, 'file:///etc/passwd'),
  'redirect-localhost': redirect('Responds 307 with a URL on `localhost`.', 307, 'http://localhost:9/'),
  'redirect-metadata': redirect(
    'Responds 307 with the URL of the cloud metadata service, which holds the credentials of a machine.',
    307,
    'http://169.254.169.254/latest/meta-data/',
  ),
  'redirect-scheme': redirect('Responds 301 with a `gopher:` URL.', 301, 'gopher://localhost:25/_HELO'),
  'redirect-nowhere': redirect('Responds 302 with an invalid URL.', 302, 'http://['),
  'redirect-without': {
    description: 'Responds 302 without a `Location`.',
    seenAs: 302,
    run: (connection) => connection.end(emptyResponse('302 Found')),
  },
});

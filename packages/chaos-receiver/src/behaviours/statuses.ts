import {
  type Behaviour,
  type BehaviourDefinition,
  formatEmptyResponse,
  formatResponseHead,
  toBehaviourList,
} from '../behaviour.ts';
import type { Connection } from '../connection.ts';

/** Reason phrases of the statuses that `--list` prints. */
const REASON_PHRASES: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  203: 'Non-Authoritative Information',
  204: 'No Content',
  205: 'Reset Content',
  206: 'Partial Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  418: "I'm a Teapot",
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  425: 'Too Early',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  507: 'Insufficient Storage',
  511: 'Network Authentication Required',
};

/** Creates a behaviour that sends an empty response with a status from 200 to 599. */
export function createStatusBehaviour(code: number): Behaviour {
  const reasonPhrase = REASON_PHRASES[code] ?? 'Unknown';
  return {
    slug: String(code),
    description: `Responds \`${code} ${reasonPhrase}\` without a body.`,
    senderSees: code,
    run: (connection) =>
      connection.end(
        code === 204 || code === 304
          ? formatResponseHead(`${code} ${reasonPhrase}`)
          : formatEmptyResponse(`${code} ${reasonPhrase}`),
      ),
  };
}

export const statusBehaviours: readonly Behaviour[] = Object.keys(REASON_PHRASES).map((code) =>
  createStatusBehaviour(Number(code)),
);

/** Creates the properties of a behaviour that sends an empty response with additional headers. */
const defineResponseWithHeaders = (
  code: number,
  reasonPhrase: string,
  ...headers: readonly string[]
): Pick<Behaviour, 'senderSees' | 'run'> => ({
  senderSees: code,
  run: (connection) => connection.end(formatEmptyResponse(`${code} ${reasonPhrase}`, ...headers)),
});

export const authenticationDemands: readonly Behaviour[] = toBehaviourList({
  '401-basic': {
    description: 'Responds 401 and demands a password with `WWW-Authenticate: Basic`.',
    ...defineResponseWithHeaders(401, 'Unauthorized', 'WWW-Authenticate: Basic realm="hooks"'),
  },
  '401-negotiate': {
    description: 'Responds 401 and demands Windows authentication with `WWW-Authenticate: Negotiate` and `NTLM`.',
    ...defineResponseWithHeaders(401, 'Unauthorized', 'WWW-Authenticate: Negotiate', 'WWW-Authenticate: NTLM'),
  },
  '407': {
    description: 'Responds 407 with `Proxy-Authenticate`, as a proxy does.',
    ...defineResponseWithHeaders(407, 'Proxy Authentication Required', 'Proxy-Authenticate: Basic realm="proxy"'),
  },
  '426': {
    description: 'Responds 426 and demands HTTP/2 with `Upgrade: h2c`.',
    ...defineResponseWithHeaders(426, 'Upgrade Required', 'Upgrade: h2c'),
  },
  '503-clear-site': {
    description:
      'Responds 503 with `Clear-Site-Data`, `Strict-Transport-Security` and `Alt-Svc`, which concern only browsers.',
    ...defineResponseWithHeaders(
      503,
      'Service Unavailable',
      'Clear-Site-Data: "*"',
      'Strict-Transport-Security: max-age=31536000',
      'Alt-Svc: h3=":1"',
    ),
  },
});

/** Creates a behaviour that sends `Retry-After`. Each line of `retryAfter` becomes one header. */
const defineRetryAfterResponse = (
  description: string,
  retryAfter: string | ((now: number) => string),
  code = 503,
): BehaviourDefinition => ({
  description,
  senderSees: code,
  run: (connection) => {
    const headerValueLines = typeof retryAfter === 'string' ? retryAfter : retryAfter(Date.now());
    connection.end(
      formatEmptyResponse(
        `${code} ${REASON_PHRASES[code]}`,
        ...headerValueLines.split('\n').map((headerValue) => `Retry-After: ${headerValue}`),
      ),
    );
  },
});

export const retryAfterResponses: readonly Behaviour[] = toBehaviourList({
  'retry-after-seconds': defineRetryAfterResponse('Responds 429 with `Retry-After: 2`.', '2', 429),
  'retry-after-date': defineRetryAfterResponse(
    'Responds 503 with `Retry-After` as a date two seconds in the future.',
    (now) => new Date(now + 2_000).toUTCString(),
  ),
  'retry-after-past': defineRetryAfterResponse(
    'Responds 503 with `Retry-After` as a date in the past.',
    'Thu, 01 Jan 1970 00:00:00 GMT',
  ),
  'retry-after-zero': defineRetryAfterResponse('Responds 429 with `Retry-After: 0`.', '0', 429),
  'retry-after-negative': defineRetryAfterResponse('Responds 429 with `Retry-After: -120`.', '-120', 429),
  'retry-after-garbage': defineRetryAfterResponse('Responds 503 with `Retry-After: soon, perhaps`.', 'soon, perhaps'),
  'retry-after-enormous': defineRetryAfterResponse('Responds 503 with a `Retry-After` of 400 digits.', '9'.repeat(400)),
  'retry-after-twice': defineRetryAfterResponse('Responds 503 with two different `Retry-After` headers.', '1\n100'),
});

const defineRedirect = (
  description: string,
  status: number,
  location: string | ((connection: Connection) => string),
): BehaviourDefinition => ({
  description,
  senderSees: status,
  run(connection) {
    const targetUrl = typeof location === 'string' ? location : location(connection);
    connection.end(formatEmptyResponse(`${status} Elsewhere`, `Location: ${targetUrl}`));
  },
});

/**
 * Path in the `Location` of redirects to this receiver. Every port responds 200 to this path, regardless of its script,
 * so that the output shows whether a sender follows redirects.
 */
export const FOLLOWED_REDIRECT_PATH = '/200?followed';

const getSameReceiverUrl = ({ request }: Connection) =>
  `http://${request?.headers.host ?? 'localhost'}${FOLLOWED_REDIRECT_PATH}`;

export const redirects: readonly Behaviour[] = toBehaviourList({
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status) => [
      `redirect-${status}`,
      defineRedirect(`Responds ${status} with the URL of a 200 on the same receiver.`, status, getSameReceiverUrl),
    ]),
  ),
  'redirect-loop': defineRedirect('Responds 302 with its own URL.', 302, ({ request }) => request?.path ?? '/'),
  'redirect-file': defineRedirect('Responds 302 with `file:///etc/passwd`.', 302, 'file:///etc/passwd'),
  'redirect-localhost': defineRedirect('Responds 307 with a URL on `localhost`.', 307, 'http://localhost:9/'),
  'redirect-metadata': defineRedirect(
    'Responds 307 with the URL of the cloud metadata service, which holds the credentials of a machine.',
    307,
    'http://169.254.169.254/latest/meta-data/',
  ),
  'redirect-scheme': defineRedirect('Responds 301 with a `gopher:` URL.', 301, 'gopher://localhost:25/_HELO'),
  'redirect-nowhere': defineRedirect('Responds 302 with an invalid URL.', 302, 'http://['),
  'redirect-without': {
    description: 'Responds 302 without a `Location`.',
    senderSees: 302,
    run: (connection) => connection.end(formatEmptyResponse('302 Found')),
  },
});

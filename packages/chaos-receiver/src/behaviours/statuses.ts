import { type Behaviour, bare, head, rows } from '../behaviour.ts';

/** What statuses are called, and so what receivers answer by mistake, in anger or at night. */
const REASONS: Readonly<Record<number, string>> = {
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

/** Answers with a status, any from 200 to 599, and nothing else. */
export function status(code: number): Behaviour {
  const reason = REASONS[code] ?? 'Unknown';
  return {
    slug: String(code),
    says: `Answers \`${code} ${reason}\`, without a body.`,
    sees: code,
    act: (visit) => visit.end(code === 204 || code === 304 ? head(`${code} ${reason}`) : bare(`${code} ${reason}`)),
  };
}

export const statuses: readonly Behaviour[] = Object.keys(REASONS).map((code) => status(Number(code)));

const challenges = (code: number, reason: string, ...headers: readonly string[]): Pick<Behaviour, 'sees' | 'act'> => ({
  sees: code,
  act: (visit) => visit.end(bare(`${code} ${reason}`, ...headers)),
});

export const demands: readonly Behaviour[] = rows({
  '401-basic': {
    says: 'Answers 401 and asks for a password with `WWW-Authenticate: Basic`.',
    ...challenges(401, 'Unauthorized', 'WWW-Authenticate: Basic realm="hooks"'),
  },
  '401-negotiate': {
    says: "Answers 401 and asks for the machine's own sign-in with `WWW-Authenticate: Negotiate` and `NTLM`.",
    ...challenges(401, 'Unauthorized', 'WWW-Authenticate: Negotiate', 'WWW-Authenticate: NTLM'),
  },
  '407': {
    says: 'Answers 407 with `Proxy-Authenticate`, as if it were a proxy.',
    ...challenges(407, 'Proxy Authentication Required', 'Proxy-Authenticate: Basic realm="proxy"'),
  },
  '426': {
    says: 'Answers 426 and asks for HTTP/2 with `Upgrade: h2c`.',
    ...challenges(426, 'Upgrade Required', 'Upgrade: h2c'),
  },
  '503-clear-site': {
    says: 'Answers 503 with `Clear-Site-Data`, `Strict-Transport-Security` and `Alt-Svc` to another port, none of which is for a sender.',
    ...challenges(
      503,
      'Service Unavailable',
      'Clear-Site-Data: "*"',
      'Strict-Transport-Security: max-age=31536000',
      'Alt-Svc: h3=":1"',
    ),
  },
});

const asksToWait = (says: string, value: string | ((now: number) => string), code = 503): Omit<Behaviour, 'slug'> => ({
  says,
  sees: code,
  act: (visit) => {
    const text = typeof value === 'string' ? value : value(visit.clock.now());
    visit.end(bare(`${code} ${REASONS[code]}`, ...text.split('\n').map((one) => `Retry-After: ${one}`)));
  },
});

export const waits: readonly Behaviour[] = rows({
  'retry-after-seconds': asksToWait('Answers 429 with `Retry-After: 2`.', '2', 429),
  'retry-after-date': asksToWait('Answers 503 with `Retry-After` as a date, two seconds ahead.', (now) =>
    new Date(now + 2_000).toUTCString(),
  ),
  'retry-after-past': asksToWait(
    'Answers 503 with `Retry-After` as a date that is over.',
    'Thu, 01 Jan 1970 00:00:00 GMT',
  ),
  'retry-after-zero': asksToWait('Answers 429 with `Retry-After: 0`.', '0', 429),
  'retry-after-negative': asksToWait('Answers 429 with `Retry-After: -120`.', '-120', 429),
  'retry-after-garbage': asksToWait('Answers 503 with `Retry-After: soon, perhaps`.', 'soon, perhaps'),
  'retry-after-enormous': asksToWait('Answers 503 with a `Retry-After` of 400 digits.', '9'.repeat(400)),
  'retry-after-twice': asksToWait('Answers 503 with two different `Retry-After`.', '1\n100'),
});

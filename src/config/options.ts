import { isIP } from 'node:net';
import { type AllowRule, parseAllowRules } from '../delivery/transport/ssrf-guard.ts';
import { parseDuration, parseRate, type Rate } from '../durations.ts';
import {
  type MailServer,
  parseMailServer,
  parseSender,
  type Sender,
  showMailServer,
  showSender,
} from '../mail/smtp-url.ts';
import { parseDatabase, showDatabase } from '../store/database-url.ts';
import { parseOrigins } from './origins.ts';

/** The parsed value of an option, or its error, as text that follows the option's name. */
export type Parsed<T> = { value: T } | { fault: string };

/** The definition of an option of `carillon serve`. Flags, environment variables, help and docs are derived from it. */
export type Option<T> = {
  /** `--flag`, and `CARILLON_FLAG` in the environment. */
  readonly flag: string;
  readonly shape: string;
  readonly says: string;
  /** The default, as text; undefined: the option may be absent. */
  readonly initial: string | undefined;
  readonly parse: (text: string) => Parsed<T>;
  /** The value is never logged or displayed. */
  readonly secret?: true;
  /** The displayed value, for options whose value contains a secret or is not plain. */
  readonly show?: (value: T) => unknown;
};

function option<T>(row: Option<T>): Option<T> {
  return row;
}

/** A rate limit; off by default. */
function rateLimit(name: string, counted: string): Option<Rate | undefined> {
  return {
    flag: `rate-limit-${name}`,
    shape: 'off|number/s|m|h',
    says: `The most ${counted}: 100/s allows a hundred at once and a hundred a second, 6000/m the same pace and 6,000 at once. Beyond it, 429 with Retry-After. Each node counts for itself.`,
    initial: 'off',
    parse: parseLimit,
    show: showRate,
  };
}

/** A quota per account; off by default. */
function quota(flag: string, says: string): Option<number | undefined> {
  return {
    flag,
    shape: 'off|number',
    says,
    initial: 'off',
    parse: (text) => (text === 'off' ? { value: undefined } : parseWhole(text, 1, 1_000_000_000, 'off or ')),
    show: (max) => max ?? 'off',
  };
}

const roles = ['all', 'api', 'delivery'] as const;

export type Role = (typeof roles)[number];

/** The table of options. The order is that of the help. */
export const options = {
  host: option({
    flag: 'host',
    shape: 'address',
    says: 'The address to listen on.',
    initial: '127.0.0.1',
    parse: (text) => (/^[\w.:-]+$/.test(text) ? { value: text } : { fault: 'must be a host name or an IP address' }),
  }),
  port: option({
    flag: 'port',
    shape: 'number',
    says: 'The port to listen on; 0 takes a free one.',
    initial: '8080',
    parse: (text) => parseWhole(text, 0, 65_535),
  }),
  database: option({
    flag: 'database',
    shape: 'sqlite:path|postgres://…',
    says: 'Where everything is kept: a file, or a PostgreSQL that several services may share.',
    initial: 'sqlite:data/carillon.db',
    parse: parseDatabase,
    show: showDatabase,
  }),
  role: option<Role>({
    flag: 'role',
    shape: 'all|api|delivery',
    says: 'What this node does, where several share a PostgreSQL: answer callers, notify targets, or both.',
    initial: 'all',
    parse: (text) => {
      const role = roles.find((one) => one === text);
      return role === undefined ? { fault: 'must be all, api or delivery' } : { value: role };
    },
  }),
  durability: option<'full' | 'any'>({
    flag: 'durability',
    shape: 'full|any',
    says: 'Whether a PostgreSQL is taken whose settings (fsync, synchronous_commit) may lose what it has confirmed.',
    initial: 'full',
    parse: (text) => (text === 'full' || text === 'any' ? { value: text } : { fault: 'must be full or any' }),
  }),
  baseUrl: option({
    flag: 'base-url',
    shape: 'url',
    says: 'The address under which others reach the service; every address in an answer begins with it. Default: http://{host}:{port}.',
    initial: undefined,
    parse: parseBaseUrl,
  }),
  allowTargets: option<readonly AllowRule[]>({
    flag: 'allow-targets',
    shape: 'list',
    says: 'Targets that may be called although they are not public: CIDRs or exact names, each with optional :port, separated by commas.',
    initial: '',
    parse(text) {
      const parsed = parseAllowRules(text);
      return 'fault' in parsed ? { fault: parsed.fault } : { value: parsed.rules };
    },
  }),
  retryWaits: option({
    flag: 'retry-waits',
    shape: 'duration,duration',
    says: 'The waits after the first and the second failure of a hook; the third failure ends it.',
    initial: '1m,2h',
    parse: parseWaits,
  }),
  attemptTimeout: option({
    flag: 'attempt-timeout',
    shape: 'duration',
    says: 'The total time one notification may take: name, connection and answer.',
    initial: '15s',
    parse: (text) => parseTime(text, 100, 300_000),
  }),
  corsOrigins: option<readonly string[]>({
    flag: 'cors-origins',
    shape: 'list',
    says: 'Web origins whose pages may call the interface, separated by commas; null for local files and desktop applications, * for every page.',
    initial: '',
    parse: (text) => parseOrigins(listOf(text)),
  }),
  trustProxy: option<readonly string[]>({
    flag: 'trust-proxy',
    shape: 'list',
    says: 'Addresses or CIDRs of the reverse proxies whose X-Forwarded-For is believed, separated by commas.',
    initial: '',
    parse: parseProxies,
  }),
  smtpUrl: option<MailServer | undefined>({
    flag: 'smtp-url',
    shape: 'smtp://…|smtps://…',
    says: 'The mail server by which owners are told that a hook of theirs fails or has ended: smtp://user:password@host:587. TLS is required but on loopback; ?tls=off does without. Left out: no mails. Who signs in there, and with what, is never shown in a log.',
    initial: '',
    parse: parseMailServer,
    show: showMailServer,
  }),
  mailFrom: option<Sender | undefined>({
    flag: 'mail-from',
    shape: 'address',
    says: 'Whom mails come from: carillon@example.com, or Carillon <carillon@example.com>. Needed with --smtp-url.',
    initial: '',
    parse: parseSender,
    show: showSender,
  }),
  metricsToken: option<string>({
    flag: 'metrics-token',
    shape: 'token',
    says: 'Opens /metrics from anywhere, as Authorization: Bearer …, and to nobody without it. Left out: to this machine alone.',
    initial: '',
    parse: (text) =>
      text === '' || text.length >= 16 ? { value: text } : { fault: 'must be at least 16 characters long' },
    secret: true,
  }),
  maxRequests: option({
    flag: 'max-requests',
    shape: 'number',
    says: 'The most requests of callers under way at once; beyond them, 503 with Retry-After. Requests without a key have places of their own, a quarter as many.',
    initial: '1000',
    parse: (text) => parseWhole(text, 1, 100_000),
  }),
  maxConnections: option({
    flag: 'max-connections',
    shape: 'number',
    says: 'The most connections at once; a quarter of them from one network (an IPv4 address, an IPv6 /64) that is not in --trust-proxy. Beyond them, 503 and the connection ends.',
    initial: '20000',
    parse: (text) => parseWhole(text, 16, 1_000_000),
  }),
  maxUnread: option({
    flag: 'max-unread',
    shape: 'MiB',
    says: 'The most MiB of responses that wait in memory for their readers; a quarter of it for one account, an eighth for one user. Beyond it, 503 with Retry-After.',
    initial: '128',
    // At least 80 MiB, so that the eighth for one user is enough for the largest page.
    parse: (text) => parseWhole(text, 80, 65_536),
  }),
  maxFollowers: option({
    flag: 'max-followers',
    shape: 'number',
    says: 'The most callers that wait for something to happen, or have it streamed, at once; a quarter of them of one account. Beyond them, 503.',
    initial: '10000',
    parse: (text) => parseWhole(text, 1, 1_000_000),
  }),
  rateLimitKeyReads: rateLimit('key-reads', 'calls that read, of each key'),
  rateLimitKeyWrites: rateLimit('key-writes', 'calls that write, of each key'),
  rateLimitAccountReads: rateLimit('account-reads', 'calls that read, of each account'),
  rateLimitAccountWrites: rateLimit('account-writes', 'calls that write, of each account'),
  wrongKeys: option<Rate | undefined>({
    flag: 'wrong-keys',
    shape: 'off|number/s|m|h',
    says: 'How many wrong keys may come from one address (of IPv6 from a /64); beyond them each waits for its 401, up to 10 seconds. A good key never waits.',
    initial: '60/m',
    parse: parseLimit,
    show: showRate,
  }),
  maxHooks: quota('max-hooks-per-account', 'The most live hooks of one account; beyond them, 409.'),
  maxPending: quota(
    'max-pending-per-account',
    'The most deliveries that may be pending for one account. A write that would add to them is then rejected with 429. Pending deliveries are never dropped.',
  ),
  maxAttemptsPerHost: option({
    flag: 'max-attempts-per-host',
    shape: 'number',
    says: 'The most attempts in flight to one host and port, of all accounts together; at most 2000 are in flight in all.',
    initial: '1000',
    parse: (text) => parseWhole(text, 1, 2_000),
  }),
  logLevel: option({
    flag: 'log-level',
    shape: 'level',
    says: 'The least important lines to log: debug, info, warn, error or silent.',
    initial: 'info',
    parse: (text) =>
      ['debug', 'info', 'warn', 'error', 'silent'].includes(text)
        ? { value: text }
        : { fault: 'must be debug, info, warn, error or silent' },
  }),
};

export type OptionName = keyof typeof options;

/** The name of an option in the environment. */
export function environmentName(flag: string): string {
  return `CARILLON_${flag.toUpperCase().replaceAll('-', '_')}`;
}

function parseWhole(text: string, min: number, max: number, or = ''): Parsed<number> {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return { value };
  return { fault: `must be ${or}a whole number from ${min} to ${max}` };
}

function parseLimit(text: string): Parsed<Rate | undefined> {
  if (text === 'off') return { value: undefined };
  const value = parseRate(text);
  return value === undefined ? { fault: 'must be off, or a rate such as 100/s, 6000/m or 1000/h' } : { value };
}

const WINDOW_NAMES: Readonly<Record<number, string>> = { 1: 's', 60: 'm', 3600: 'h' };

function showRate(rate: Rate | undefined): string {
  return rate === undefined ? 'off' : `${rate.count}/${WINDOW_NAMES[rate.windowS]}`;
}

function parseTime(text: string, minMs: number, maxMs: number): Parsed<number> {
  const value = parseDuration(text);
  if (value === undefined) return { fault: 'must be a duration such as 15s, 2h or 250ms' };
  return value >= minMs && value <= maxMs ? { value } : { fault: `must be from ${minMs}ms to ${maxMs}ms` };
}

function parseBaseUrl(text: string): Parsed<string> {
  const fault = { fault: 'must be an http or https address without query, such as https://calendar.example.com' };
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return fault;
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') return fault;
  return { value: url.href.replace(/([^/])\/+$/, '$1') };
}

/** A year: a longer delay is a mistake, and its due time might be outside the range of dates. */
const MAX_WAIT_MS = 365 * 24 * 3_600_000;

function parseWaits(text: string): Parsed<readonly [number, number]> {
  const [first = -1, second = -1, ...more] = text.split(',').map(parseDuration);
  const isWait = (waitMs: number) => waitMs >= 0 && waitMs <= MAX_WAIT_MS;
  if (!isWait(first) || !isWait(second) || more.length > 0)
    return { fault: 'must be two durations of at most 365d, such as 1m,2h' };
  return { value: [first, second] };
}

function parseProxies(text: string): Parsed<readonly string[]> {
  const proxies = listOf(text);
  const wrong = proxies.find((proxy) => {
    const [address = '', bits, ...more] = proxy.split('/');
    const family = isIP(address);
    if (family === 0 || more.length > 0) return true;
    return bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
  });
  return wrong === undefined ? { value: proxies } : { fault: `must list IP addresses or CIDRs; ${wrong} is none` };
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

import { isIP } from 'node:net';
import { type AllowRule, parseAllowRules } from '../delivery/transport/ssrf-guard.ts';
import { parseDuration, parseRate, type RequestRate } from '../durations.ts';
import {
  formatMailServer,
  formatSender,
  type MailServer,
  parseMailServer,
  parseSender,
  type Sender,
} from '../mail/mail-options.ts';
import { formatDatabaseLocation, parseDatabaseUrl } from '../store/database-url.ts';
import { parseOrigins } from './origins.ts';

/** The parsed value of an option, or an error text that is printed after the option's name. */
type ParseResult<T> = { value: T } | { fault: string };

/** The definition of an option of `carillon serve`. Flags, environment variables, help and docs are derived from it. */
export type Option<T> = {
  /** Name of the flag without `--`. The name of the environment variable is derived from it. */
  readonly flag: string;
  /** Placeholder for the value in help and docs, such as `duration`. */
  readonly placeholder: string;
  readonly description: string;
  /** The default as text; undefined if the option may be absent. */
  readonly defaultText: string | undefined;
  readonly parse: (text: string) => ParseResult<T>;
  /** Set if the value is never logged or displayed. */
  readonly isSecret?: true;
  /** Converts the value for logs and display, for example to leave out a password. Default: the value itself. */
  readonly formatForDisplay?: (value: T) => unknown;
};

function defineOption<T>(option: Option<T>): Option<T> {
  return option;
}

/** Defines an option for a rate limit, which is off by default. */
function defineRateLimit(flagSuffix: string, requestDescription: string): Option<RequestRate | undefined> {
  return {
    flag: `rate-limit-${flagSuffix}`,
    placeholder: 'off|number/s|m|h',
    description: `Rate limit of ${requestDescription}. 100/s allows 100 a second with bursts of 100; 6000/m the same rate with bursts of 6,000. Beyond it, 429 with Retry-After. Each node counts separately.`,
    defaultText: 'off',
    parse: parseRateLimit,
    formatForDisplay: formatRate,
  };
}

/** Defines an option for a quota per account, which is off by default. */
function defineQuota(flag: string, description: string): Option<number | undefined> {
  return {
    flag,
    placeholder: 'off|number',
    description,
    defaultText: 'off',
    parse: (text) => (text === 'off' ? { value: undefined } : parseWholeNumber(text, 1, 1_000_000_000, 'off or ')),
    formatForDisplay: (quota) => quota ?? 'off',
  };
}

const nodeRoles = ['all', 'api', 'delivery'] as const;

type NodeRole = (typeof nodeRoles)[number];

/** All options, in the order of the help. */
export const options = {
  host: defineOption({
    flag: 'host',
    placeholder: 'address',
    description: 'The address to listen on.',
    defaultText: '127.0.0.1',
    parse: (text) => (/^[\w.:-]+$/.test(text) ? { value: text } : { fault: 'must be a host name or an IP address' }),
  }),
  port: defineOption({
    flag: 'port',
    placeholder: 'number',
    description: 'The port to listen on; 0 takes a free one.',
    defaultText: '8080',
    parse: (text) => parseWholeNumber(text, 0, 65_535),
  }),
  database: defineOption({
    flag: 'database',
    placeholder: 'sqlite:path|postgres://…',
    description: 'The database: an SQLite file, or a PostgreSQL database that several nodes may share.',
    defaultText: 'sqlite:data/carillon.db',
    parse: parseDatabaseUrl,
    formatForDisplay: formatDatabaseLocation,
  }),
  role: defineOption<NodeRole>({
    flag: 'role',
    placeholder: 'all|api|delivery',
    description:
      'What this node does if several share a PostgreSQL database: api serves requests, delivery sends notifications, all does both.',
    defaultText: 'all',
    parse: (text) => {
      const role = nodeRoles.find((candidate) => candidate === text);
      return role === undefined ? { fault: 'must be all, api or delivery' } : { value: role };
    },
  }),
  durability: defineOption<'full' | 'any'>({
    flag: 'durability',
    placeholder: 'full|any',
    description:
      'Whether to accept a PostgreSQL whose settings (fsync, synchronous_commit) may lose acknowledged writes: full rejects it, any accepts it.',
    defaultText: 'full',
    parse: (text) => (text === 'full' || text === 'any' ? { value: text } : { fault: 'must be full or any' }),
  }),
  baseUrl: defineOption({
    flag: 'base-url',
    placeholder: 'url',
    description:
      'The public address of the service; every URL in a response begins with it. Default: http://{host}:{port}.',
    defaultText: undefined,
    parse: parseBaseUrl,
  }),
  allowTargets: defineOption<readonly AllowRule[]>({
    flag: 'allow-targets',
    placeholder: 'list',
    description:
      'Targets that are allowed although they are not public: CIDRs or exact names, each with an optional :port, separated by commas.',
    defaultText: '',
    parse(text) {
      const parsedRules = parseAllowRules(text);
      return 'fault' in parsedRules ? { fault: parsedRules.fault } : { value: parsedRules.rules };
    },
  }),
  retryWaits: defineOption({
    flag: 'retry-waits',
    placeholder: 'duration,duration',
    description: 'Retry delays after the first and the second failure of a hook; the third failure ends it.',
    defaultText: '1m,2h',
    parse: parseRetryDelays,
  }),
  attemptTimeout: defineOption({
    flag: 'attempt-timeout',
    placeholder: 'duration',
    description: 'Timeout of one attempt: DNS, connection and response.',
    defaultText: '15s',
    parse: (text) => parseBoundedDuration(text, 100, 300_000),
  }),
  corsOrigins: defineOption<readonly string[]>({
    flag: 'cors-origins',
    placeholder: 'list',
    description:
      'Web origins whose pages may call the API, separated by commas; null for local files and desktop applications, * for every page.',
    defaultText: '',
    parse: (text) => parseOrigins(splitList(text)),
  }),
  trustProxy: defineOption<readonly string[]>({
    flag: 'trust-proxy',
    placeholder: 'list',
    description: 'Addresses or CIDRs of reverse proxies whose X-Forwarded-For is trusted, separated by commas.',
    defaultText: '',
    parse: parseProxies,
  }),
  smtpUrl: defineOption<MailServer | undefined>({
    flag: 'smtp-url',
    placeholder: 'smtp://…|smtps://…',
    description:
      'Mail server for alerts to the owners of failing and ended hooks: smtp://user:password@host:587. TLS is required except on loopback; ?tls=off disables it. Without this option no mails are sent. User and password are never logged.',
    defaultText: '',
    parse: parseMailServer,
    formatForDisplay: formatMailServer,
  }),
  mailFrom: defineOption<Sender | undefined>({
    flag: 'mail-from',
    placeholder: 'address',
    description:
      'Sender of the mails: carillon@example.com, or Carillon <carillon@example.com>. Required with --smtp-url.',
    defaultText: '',
    parse: parseSender,
    formatForDisplay: formatSender,
  }),
  metricsToken: defineOption<string>({
    flag: 'metrics-token',
    placeholder: 'token',
    description:
      'Token for /metrics, sent as Authorization: Bearer …. Without this option /metrics is only served to this machine.',
    defaultText: '',
    parse: (text) =>
      text === '' || text.length >= 16 ? { value: text } : { fault: 'must be at least 16 characters long' },
    isSecret: true,
  }),
  maxRequests: defineOption({
    flag: 'max-requests',
    placeholder: 'number',
    description:
      'Maximum of concurrent requests; beyond it, 503 with Retry-After. Requests without a key have a separate limit, a quarter of this one.',
    defaultText: '1000',
    parse: (text) => parseWholeNumber(text, 1, 100_000),
  }),
  maxConnections: defineOption({
    flag: 'max-connections',
    placeholder: 'number',
    description:
      'Maximum of open connections; at most a quarter of them from one network (an IPv4 address, an IPv6 /64) that is not in --trust-proxy. Beyond it, 503 and the connection is closed.',
    defaultText: '20000',
    parse: (text) => parseWholeNumber(text, 16, 1_000_000),
  }),
  maxUnread: defineOption({
    flag: 'max-unread',
    placeholder: 'MiB',
    description:
      'Maximum MiB of responses in memory that clients have not read yet; at most a quarter for one account and an eighth for one user. Beyond it, 503 with Retry-After.',
    defaultText: '128',
    // With at least 80 MiB, the limit of one user (an eighth, 10 MiB) is enough for the largest page.
    parse: (text) => parseWholeNumber(text, 80, 65_536),
  }),
  maxFollowers: defineOption({
    flag: 'max-followers',
    placeholder: 'number',
    description:
      'Maximum of requests that wait for the feed or stream it; at most a quarter of them of one account. Beyond it, 503.',
    defaultText: '10000',
    parse: (text) => parseWholeNumber(text, 1, 1_000_000),
  }),
  rateLimitKeyReads: defineRateLimit('key-reads', 'reading requests per key'),
  rateLimitKeyWrites: defineRateLimit('key-writes', 'writing requests per key'),
  rateLimitAccountReads: defineRateLimit('account-reads', 'reading requests per account'),
  rateLimitAccountWrites: defineRateLimit('account-writes', 'writing requests per account'),
  wrongKeys: defineOption<RequestRate | undefined>({
    flag: 'wrong-keys',
    placeholder: 'off|number/s|m|h',
    description:
      'Rate limit of wrong keys from one address (IPv6: a /64); beyond it, each 401 is delayed by up to 10 seconds. Requests with a valid key are never delayed.',
    defaultText: '60/m',
    parse: parseRateLimit,
    formatForDisplay: formatRate,
  }),
  maxHooks: defineQuota('max-hooks-per-account', 'Quota of live hooks per account; beyond it, 409.'),
  maxPending: defineQuota(
    'max-pending-per-account',
    'Quota of pending deliveries per account. Beyond it, a write that would add one is rejected with 429. Pending deliveries are never dropped.',
  ),
  maxAttemptsPerHost: defineOption({
    flag: 'max-attempts-per-host',
    placeholder: 'number',
    description:
      'Maximum of attempts in flight to one host and port, over all accounts; the maximum over all hosts is 2000.',
    defaultText: '1000',
    parse: (text) => parseWholeNumber(text, 1, 2_000),
  }),
  logLevel: defineOption({
    flag: 'log-level',
    placeholder: 'level',
    description: 'The lowest level that is logged: debug, info, warn, error or silent.',
    defaultText: 'info',
    parse: (text) =>
      ['debug', 'info', 'warn', 'error', 'silent'].includes(text)
        ? { value: text }
        : { fault: 'must be debug, info, warn, error or silent' },
  }),
};

export type OptionName = keyof typeof options;

/** The environment variable of an option: `CARILLON_LOG_LEVEL` for the flag `log-level`. */
export function environmentVariableOf(flag: string): string {
  return `CARILLON_${flag.toUpperCase().replaceAll('-', '_')}`;
}

function parseWholeNumber(text: string, min: number, max: number, alternativesText = ''): ParseResult<number> {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return { value };
  return { fault: `must be ${alternativesText}a whole number from ${min} to ${max}` };
}

function parseRateLimit(text: string): ParseResult<RequestRate | undefined> {
  if (text === 'off') return { value: undefined };
  const value = parseRate(text);
  return value === undefined ? { fault: 'must be off, or a rate such as 100/s, 6000/m or 1000/h' } : { value };
}

const UNIT_SUFFIX_BY_WINDOW_SECONDS: Readonly<Record<number, string>> = { 1: 's', 60: 'm', 3600: 'h' };

function formatRate(rate: RequestRate | undefined): string {
  return rate === undefined ? 'off' : `${rate.count}/${UNIT_SUFFIX_BY_WINDOW_SECONDS[rate.windowSeconds]}`;
}

function parseBoundedDuration(text: string, minMs: number, maxMs: number): ParseResult<number> {
  const value = parseDuration(text);
  if (value === undefined) return { fault: 'must be a duration such as 15s, 2h or 250ms' };
  return value >= minMs && value <= maxMs ? { value } : { fault: `must be from ${minMs}ms to ${maxMs}ms` };
}

function parseBaseUrl(text: string): ParseResult<string> {
  const urlError = { fault: 'must be an http or https address without query, such as https://calendar.example.com' };
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return urlError;
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') return urlError;
  return { value: url.href.replace(/([^/])\/+$/, '$1') };
}

/** Maximum retry delay: a year. A longer delay is a mistake, and its due time might be outside the range of dates. */
const MAX_RETRY_DELAY_MS = 365 * 24 * 3_600_000;

function parseRetryDelays(text: string): ParseResult<readonly [number, number]> {
  const [firstDelayMs = -1, secondDelayMs = -1, ...extraDelays] = text.split(',').map(parseDuration);
  const isValidDelay = (delayMs: number) => delayMs >= 0 && delayMs <= MAX_RETRY_DELAY_MS;
  if (!isValidDelay(firstDelayMs) || !isValidDelay(secondDelayMs) || extraDelays.length > 0)
    return { fault: 'must be two durations of at most 365d, such as 1m,2h' };
  return { value: [firstDelayMs, secondDelayMs] };
}

function parseProxies(text: string): ParseResult<readonly string[]> {
  const proxies = splitList(text);
  const invalidProxy = proxies.find((proxy) => {
    const [address = '', prefixBits, ...extraParts] = proxy.split('/');
    const ipFamily = isIP(address);
    if (ipFamily === 0 || extraParts.length > 0) return true;
    return prefixBits !== undefined && !(/^\d+$/.test(prefixBits) && Number(prefixBits) <= (ipFamily === 4 ? 32 : 128));
  });
  return invalidProxy === undefined
    ? { value: proxies }
    : { fault: `must list IP addresses or CIDRs; ${invalidProxy} is none` };
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

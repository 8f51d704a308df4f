import { isIP } from 'node:net';
import { isPlainText, isStorable } from '../../control-characters.ts';
import type { ResolveName } from './dns-resolver.ts';
import {
  findEffectiveAddresses,
  findEmbedding,
  type IpAddress,
  isInRanges,
  isLoopback,
  isNetworkAddress,
  isPublic,
  parseAddress,
  parseRanges,
} from './ip-addresses.ts';

/**
 * One entry of `CARILLON_ALLOW_TARGETS`. `text` is the entry as the operator wrote it. Without `port`, it applies to
 * every port.
 */
export type AllowRule = { text: string; port?: number } & (
  | { kind: 'range'; base: IpAddress; bits: number }
  | { kind: 'name'; name: string }
);

/** An allowed address in canonical form. Only checked addresses may be dialled. */
export type CheckedAddress = { address: string; family: 4 | 6 };

/**
 * A forbidden target. API responses contain only `publicReason`. `address` (the first forbidden) and `setting` are for
 * the operator: `setting` is the complete assignment that would allow the target, absent if no setting can allow it.
 */
type ForbiddenTarget = { allowed: false; publicReason: 'forbidden'; address: string; setting?: string };

/** The result of checking a target. `failure`: the name could not be resolved, so nothing was checked (C11, C19). */
type TargetCheck =
  | { allowed: true; addresses: readonly CheckedAddress[] }
  | ForbiddenTarget
  | { failure: 'no_such_name' | 'resolver_silent' };

export type SsrfGuard = {
  /** Resolves the URL's host once, within `dnsTimeoutMs` (default 5 s), and checks each of its addresses. */
  checkTarget(url: URL, dnsTimeoutMs?: number): Promise<TargetCheck>;
};

const DEFAULT_DNS_TIMEOUT_MS = 5_000;
export const MAX_TARGET_LENGTH = 2_048;
const ALLOW_TARGETS_SETTING = 'CARILLON_ALLOW_TARGETS';

/** Maximum number of addresses in the suggested setting, which keeps it readable for names with many addresses. */
const MAX_SUGGESTED_ADDRESSES = 8;

/**
 * Ranges of metadata services and similar targets. Only a rule that lies completely inside one of these ranges allows
 * them, not a name and not a wider rule: an operator who allows `10.0.0.0/8`, `::/0` or a name means internal services,
 * not cloud credentials.
 */
const EXPLICIT_RULE_RANGES = parseRanges(
  '169.254.0.0/16',
  '100.100.100.200/32', // Alibaba's metadata
  '168.63.129.16/32', // Azure
  '192.0.0.192/32', // Oracle's metadata
  'fe80::/10',
  'fd00:ec2::254/128', // Amazon's metadata
  'fd00:ec2::23/128', // credentials of Amazon's pods
  'fd20:ce::254/128', // Google's metadata
  'fd00:42::42/128', // Scaleway's metadata
  'fd00:a9fe:a9fe::1/128', // Akamai's metadata
  '0.0.0.0/8',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'ff00::/8',
);

/** Host names of cloud metadata services. */
const METADATA_HOST_NAMES = new Set([
  'metadata',
  'metadata.goog',
  'metadata.google.internal',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.azure.internal',
]);

/**
 * The SSRF guard: decides which targets may be contacted, when a hook is created and again at each connection
 * (C11, C17), which also stops DNS rebinding. A target is forbidden if any address of its name is private,
 * loopback, link-local or otherwise not public, unless the operator allows it. `isLoopbackAllowed` allows 127.0.0.0/8
 * and ::1 for a service that only listens on loopback.
 */
export function createSsrfGuard({
  resolve,
  allowRules,
  isLoopbackAllowed,
}: {
  resolve: ResolveName;
  allowRules: readonly AllowRule[];
  isLoopbackAllowed: boolean;
}): SsrfGuard {
  /**
   * Returns the forbidden parts of an address: the address itself, or IPv4 addresses embedded in it. Empty if the
   * address may be dialled.
   */
  const findForbiddenParts = (address: IpAddress, host: string, port: number): IpAddress[] => {
    if (isLoopbackAllowed && isLoopback(address)) return [];
    return findEffectiveAddresses(address).filter(
      (part) => !isPublic(part) && !allowRules.some((rule) => ruleAllows(rule, part, host, port)),
    );
  };

  const toForbiddenTarget = (address: string, forbiddenParts: readonly IpAddress[], port: number): ForbiddenTarget => {
    const allowEntries = new Set(forbiddenParts.map((part) => formatAllowEntry(part, port)));
    const setting = [
      ...allowRules.map((rule) => rule.text),
      ...[...allowEntries].slice(0, MAX_SUGGESTED_ADDRESSES),
    ].join(',');
    return { allowed: false, publicReason: 'forbidden', address, setting: `${ALLOW_TARGETS_SETTING}=${setting}` };
  };

  return {
    async checkTarget(url, dnsTimeoutMs = DEFAULT_DNS_TIMEOUT_MS) {
      const host = hostOf(url);
      const port = portOf(url);
      const resolveResult = isIP(host) === 0 ? await resolve(host, dnsTimeoutMs) : { addresses: [host] };
      if ('failure' in resolveResult) return resolveResult;
      if (resolveResult.addresses.length === 0) return { failure: 'no_such_name' };

      const addresses: CheckedAddress[] = [];
      const forbiddenEntries: { address: string; forbiddenParts: IpAddress[] }[] = [];
      for (const text of new Set(resolveResult.addresses)) {
        const address = parseAddress(text);
        if (address === undefined) return { allowed: false, publicReason: 'forbidden', address: text };
        const forbiddenParts = findForbiddenParts(address, host, port);
        if (forbiddenParts.length > 0) forbiddenEntries.push({ address: text, forbiddenParts });
        else addresses.push({ address: address.toString(), family: address.kind() === 'ipv4' ? 4 : 6 });
      }

      const [firstForbiddenEntry] = forbiddenEntries;
      if (firstForbiddenEntry === undefined) return { allowed: true, addresses };
      const forbiddenParts = forbiddenEntries.flatMap((entry) => entry.forbiddenParts);
      return toForbiddenTarget(firstForbiddenEntry.address, forbiddenParts, port);
    },
  };
}

/**
 * Explains to the operator why a target is forbidden, in the log and in `carillon doctor target`. The text contains
 * addresses, so it must not appear in API responses.
 */
export function explainForbiddenTarget(forbiddenTarget: ForbiddenTarget): string {
  const finding = `${forbiddenTarget.address} is not a public address`;
  if (forbiddenTarget.setting === undefined) return `${finding}, and no setting can allow it`;
  return `${finding}; to allow it, start the service with ${forbiddenTarget.setting}`;
}

/**
 * Checks the syntax of a target before its name is resolved (C11). `fault` completes the sentence "target_url …" and
 * contains no address.
 */
export function parseTarget(text: unknown): { url: URL } | { fault: string } {
  if (typeof text !== 'string') return { fault: 'must be a string' };
  if (text.length > MAX_TARGET_LENGTH) return { fault: 'must be at most 2,048 characters' };
  // URL parsers drop some of these characters silently: `ht\ttp://…` would be accepted.
  if (/\s/.test(text) || !isPlainText(text)) return { fault: 'must not contain spaces or control characters' };

  // A URL parser replaces lone surrogates, so two different texts would be the same target.
  if (!isStorable(text)) return { fault: 'must not contain lone surrogates' };

  // The URL parser accepts `http:host` and `http:///host`, and drops an empty `@`, so the text is checked too.
  const authority = /^https?:\/\/([^/\\?#]*)/i.exec(text)?.[1];
  if (authority === undefined) return { fault: 'must be an absolute http or https URL' };
  if (authority === '') return { fault: 'must name a host' };
  if (authority.includes('@')) return { fault: 'must not contain a user name or password' };
  if (!URL.canParse(text)) return { fault: 'must be a valid URL' };

  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return { fault: 'must not contain a user name or password' };
  if (url.port === '0') return { fault: 'must not have port 0' };
  return { url };
}

/** Returns the form in which targets are compared (C12): without the fragment, which is never sent. */
export function normalizeTarget(url: URL): string {
  const normalizedUrl = new URL(url);
  normalizedUrl.hash = '';
  return normalizedUrl.href;
}

/**
 * Parses `CARILLON_ALLOW_TARGETS`: CIDRs, addresses, exact names, separated by commas, each with an optional `:port`
 * (`[fd00::/8]:8080` for IPv6). `fault` lists every invalid entry.
 */
export function parseAllowRules(text: string): { rules: AllowRule[] } | { fault: string } {
  const rules: AllowRule[] = [];
  const faults: string[] = [];
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const rule = parseAllowRule(entry);
    if ('fault' in rule) faults.push(`"${entry}" ${rule.fault}`);
    else rules.push(rule);
  }
  return faults.length > 0 ? { fault: faults.join('; ') } : { rules };
}

function parseAllowRule(text: string): AllowRule | { fault: string } {
  const { rangeOrName, portText } = splitPort(text);
  const port = portText === undefined ? undefined : Number(portText);
  if (portText !== undefined && !/^[1-9]\d{0,4}$/.test(portText)) return { fault: 'has a malformed port' };
  if (port !== undefined && port > 65_535) return { fault: 'has a malformed port' };

  const subjectRule = parseRangeRule(rangeOrName) ?? parseNameRule(rangeOrName);
  if ('fault' in subjectRule) return subjectRule;
  return { ...subjectRule, text, ...(port === undefined ? {} : { port }) };
}

/** Splits an entry of `CARILLON_ALLOW_TARGETS` into its range or name, without brackets, and its port. */
function splitPort(text: string): { rangeOrName: string; portText?: string } {
  const bracketedMatch = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  const plainMatch = /^([^:]*):([^:]*)$/.exec(text);
  const [, rangeOrName = text, portText] = bracketedMatch ?? plainMatch ?? [];
  return portText === undefined ? { rangeOrName } : { rangeOrName, portText };
}

function parseRangeRule(
  rangeOrName: string,
): { kind: 'range'; base: IpAddress; bits: number } | { fault: string } | undefined {
  const [addressText = '', bitsText, ...extraParts] = rangeOrName.split('/');
  const base = parseAddress(addressText);
  if (base === undefined) return rangeOrName.includes('/') ? { fault: 'is not a CIDR' } : undefined;

  const addressBits = base.kind() === 'ipv4' ? 32 : 128;
  if (extraParts.length > 0 || (bitsText !== undefined && !/^\d{1,3}$/.test(bitsText)))
    return { fault: 'is not a CIDR' };
  const bits = bitsText === undefined ? addressBits : Number(bitsText);
  if (bits > addressBits) return { fault: 'is not a CIDR' };
  if (!isNetworkAddress(base, bits)) return { fault: `has bits set beyond its first ${bits}` };
  // Addresses in this range are checked by their embedded IPv4 address (see `findEffectiveAddresses`), so the rule
  // would never match.
  if (findEmbedding(base)?.ranges.some(([, prefixBits]) => bits >= prefixBits)) {
    return { fault: 'stands for IPv4 addresses: write those instead' };
  }
  return { kind: 'range', base, bits };
}

function parseNameRule(rangeOrName: string): { kind: 'name'; name: string } | { fault: string } {
  const name = rangeOrName.toLowerCase().replace(/\.$/, '');
  // Use the spelling of the URL parser, since rules are compared with the parsed host of the target.
  const parsedUrl = URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`) : undefined;
  if (parsedUrl === undefined || parsedUrl.href !== `http://${parsedUrl.hostname}/` || name.includes('*')) {
    return { fault: 'is neither a CIDR nor an exact name' };
  }
  if (isIP(parsedUrl.hostname) !== 0) return { fault: `is an address: write it as ${parsedUrl.hostname}` };
  if (METADATA_HOST_NAMES.has(parsedUrl.hostname))
    return { fault: 'is a metadata service, which cannot be allowed by name' };
  return { kind: 'name', name: parsedUrl.hostname };
}

/** Whether a rule allows an address, for this host and port. */
function ruleAllows(rule: AllowRule, address: IpAddress, host: string, port: number): boolean {
  if (rule.port !== undefined && rule.port !== port) return false;
  const explicitRanges = EXPLICIT_RULE_RANGES.filter((range) => isInRanges(address, [range]));
  if (rule.kind === 'name') return rule.name === host && explicitRanges.length === 0;
  // Both ranges contain the address, so the one with more bits lies inside the other.
  return isInRanges(address, [[rule.base, rule.bits]]) && explicitRanges.every(([, bits]) => rule.bits >= bits);
}

/** Formats the entry of `CARILLON_ALLOW_TARGETS` that allows one address and one port. */
function formatAllowEntry(address: IpAddress, port: number): string {
  return address.kind() === 'ipv4' ? `${address}/32:${port}` : `[${address}/128]:${port}`;
}

/** Returns the host without brackets and without a trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopback } from '../../loopback.ts';
import { parseDomain } from '../../resources/accounts/actions.ts';
import { version } from '../../version.ts';
import type { BaseUrlFlags } from '../client/base-url.ts';
import { importKeyVariable } from '../client/connection-options.ts';
import { readEmail } from '../input/parse-flag.ts';
import { CliError } from '../output/cli-error.ts';
import type { ProgressFlags } from '../output/progress.ts';

export type FromApiFlags = ProgressFlags &
  BaseUrlFlags & {
    readonly domain?: string;
    readonly key?: string;
    readonly keyFile?: string;
    readonly asDomain?: string;
    readonly ownerEmail?: string;
    readonly work?: string;
    readonly report?: string;
    readonly idMap?: string;
    readonly rate?: string;
    readonly readings?: string;
    readonly strict?: true;
    readonly hooks?: true;
  };

/** Reads the flags of `import --from-api`; throws a `CliError` that never contains the key. */
export function readSettings(address: string, flags: FromApiFlags, environment = process.env) {
  const from = flags.domain?.trim().toLowerCase();
  if (from === undefined) throw new CliError(['Give --domain with the account at the other service.']);
  const domain = parseDomain(flags.asDomain ?? from);
  if (domain === undefined)
    throw new CliError([
      `--as-domain must be a host name, such as acme.example; ${flags.asDomain ?? from} is not one.`,
    ]);
  const base = readBase(address);
  const { protocol, hostname } = new URL(base);
  const name = `carillon-from-${from.replace(/[^a-z0-9.-]/g, '_')}`;
  const paths = {
    work: flags.work ?? `${name}.part`,
    report: flags.report ?? `${name}.report.jsonl`,
    idMap: flags.idMap ?? `${name}.ids.jsonl`,
  };
  if (new Set([`${paths.work}.jsonl`, ...Object.values(paths)].map((path) => resolve(path))).size < 4)
    throw new CliError(['--work, --report and --id-map must be three different files.']);
  const agent = `Carillon/${version} (import; +https://www.npmjs.com/package/carillon)`;
  return {
    base,
    from,
    domain,
    paths,
    isInTheClear: protocol === 'http:' && !isLoopback(hostname),
    headers: {
      key: readKey(flags, environment),
      domain: readHeader('--domain', from),
      accept: 'application/json',
      'user-agent': agent,
    },
    rate: readNumber('--rate', flags.rate ?? '10', 1, 1_000),
    readings: readNumber('--readings', flags.readings ?? '3', 1, 100),
    ownerEmail: flags.ownerEmail === undefined ? undefined : readEmail(flags.ownerEmail, '--owner-email'),
    isStrict: flags.strict ?? false,
  };
}

function readBase(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isHttp || url.username + url.password + url.search + url.hash !== '')
    throw new CliError(['--from-api must be an http or https address without user name, query and fragment.']);
  return `${url.origin}${url.pathname}`.replace(/([^/])\/+$/, '$1').replace(/\/v2$/, '');
}

/** Reads the key from exactly one place. A file or standard input (`-`) is not visible in the process list. */
function readKey({ key, keyFile }: FromApiFlags, environment: NodeJS.ProcessEnv): string {
  const variable = environment[importKeyVariable];
  if (key !== undefined && keyFile !== undefined) throw new CliError(['--key and --key-file cannot be combined.']);
  const text = keyFile === undefined ? (key ?? variable) : readKeyFile(keyFile);
  if (text === undefined || text.trim() === '')
    throw new CliError([`Give the key of the other service with --key-file, ${importKeyVariable} or --key.`]);
  return readHeader('The key', text.trim());
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new CliError([`--key-file cannot be read: ${error instanceof Error ? error.message : error}.`]);
  }
}

function readHeader(what: string, text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new CliError([`${what} must be visible ASCII characters, to be sent as a header.`]);
}

function readNumber(flag: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new CliError([`${flag} must be a whole number from ${min} to ${max}; ${text} is not one.`]);
}

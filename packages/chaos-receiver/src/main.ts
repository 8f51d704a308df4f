#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Command, Option } from 'commander';
import { behaviours } from './behaviours.ts';
import { createAuthority } from './certificates.ts';
import {
  formatBehaviourList,
  formatReportLine,
  printJson,
  printLine,
  schemeOf,
  toBehaviourListJson,
  toReportJson,
} from './output.ts';
import { seededRandom } from './random.ts';
import { createScript, parseScript } from './script.ts';
import { type Server, type ServerOptions, startServer } from './server.ts';

/** An invalid flag. The message is printed as one line, without a stack trace. */
export class UsageError extends Error {}

const MS_PER_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** @param portCount number of successive ports that are needed */
export function parsePort(text: string, portCount: number): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port === 0 || (port >= 1 && port + portCount - 1 <= 65_535)) return port;
  throw new UsageError(`--port must be a number from 0 to ${65_536 - portCount}, not ${text}`);
}

export function parseDuration(flag: string, text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const durationMs = Number(count) * (MS_PER_UNIT[unit] ?? Number.NaN);
  if (durationMs >= 1 && durationMs <= 3_600_000) return durationMs;
  throw new UsageError(`--${flag} must be a duration from 1ms to 1h, such as 15s, not ${text}`);
}

export function parseSeed(text: string | undefined): number {
  if (text === undefined) return Math.floor(Math.random() * 2 ** 31);
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw new UsageError(`--seed must be an integer from 0 to ${2 ** 32 - 1}, not ${text}`);
}

type Flags = {
  readonly script?: string;
  readonly each?: true;
  readonly list?: true;
  readonly port: string;
  readonly host: string;
  readonly deadline: string;
  readonly pace: string;
  readonly seed?: string;
  readonly caFile?: string;
  readonly json?: true;
};

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const program = new Command('carillon-chaos-receiver')
  .description(
    'A webhook receiver that misbehaves on request. http://127.0.0.1:8181/hang never responds; http://127.0.0.1:8181/503*2,200 responds 503 twice, then 200. Every port accepts HTTP and HTTPS.',
  )
  .version(version)
  .addOption(
    new Option(
      '--script <script>',
      'Behaviours of successive requests, whatever their path: hang, or 503*2,200. Default: the path is the script.',
    ).conflicts('each'),
  )
  .option('--each', 'Open one port for each behaviour, starting at --port, and print the URLs.')
  .option('--list', 'List all behaviours and exit.')
  .option('--port <number>', 'Port; 0 selects a free one.', '8181')
  .option('--host <address>', 'Address to listen on.', '127.0.0.1')
  .option('--deadline <duration>', 'Timeout of the sender; the slow behaviours depend on it.', '15s')
  .option('--pace <duration>', 'Interval between two bytes of the dripping behaviours.', '1s')
  .option('--seed <number>', 'Seed for random choices. Default: a new seed, which is printed.')
  .option('--ca-file <file>', 'Write the CA certificate that the sender has to trust. Each start creates a new one.')
  .option('--json', 'Print one JSON object per line.')
  .action(async (flags: Flags) => {
    if (flags.list) printBehaviours(flags);
    else await startServers(flags);
  });

// EPIPE is not an error: a reader such as `head` closed the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function printBehaviours({ json }: Flags): void {
  if (json) printJson(toBehaviourListJson());
  else for (const line of formatBehaviourList()) printLine(line);
}

async function startServers(flags: Flags): Promise<void> {
  const seed = parseSeed(flags.seed);
  const options = parseServerOptions(flags, seed);
  const scripts = flags.each
    ? behaviours.map((one) => ({ steps: [{ behaviours: [one], times: 1 }], slug: one.slug }))
    : [{ steps: parseScriptFlag(flags), slug: undefined }];
  const port = parsePort(flags.port, scripts.length);
  if (flags.caFile !== undefined) writeCertificate(flags.caFile, options.authority.certificate);
  const servers: Server[] = [];
  stopOnSignals(servers);
  for (const [index, { steps, slug }] of scripts.entries()) {
    const script = steps && createScript(steps, seededRandom(seed));
    const server = await startServer(options, port === 0 ? 0 : port + index, script).catch(async (error: Error) => {
      await Promise.all(servers.map((one) => one.close()));
      throw new UsageError(`${isHostError(error) ? '--host' : '--port'}: ${error.message}`);
    });
    servers.push(server);
    const scheme = schemeOf(steps?.flatMap((step) => step.behaviours));
    const url = `${scheme}://${isIP(flags.host) === 6 ? `[${flags.host}]` : flags.host}:${server.port}/${slug ?? ''}`;
    printListening(flags, { listening: url, behaviour: slug ?? flags.script ?? null, seed });
  }
}

function parseScriptFlag({ script }: Flags) {
  const steps = script === undefined ? undefined : parseScript(script);
  if (steps !== undefined && 'error' in steps) throw new UsageError(`--script: ${steps.error}; see --list`);
  return steps;
}

function parseServerOptions(flags: Flags, seed: number): ServerOptions {
  const hosts = new Set(['localhost', '127.0.0.1', '::1', flags.host]);
  return {
    random: seededRandom(seed),
    seed,
    host: flags.host,
    deadlineMs: parseDuration('deadline', flags.deadline),
    paceMs: parseDuration('pace', flags.pace),
    authority: createAuthority([...hosts], Date.now()),
    onConnectionEnd: (report) => (flags.json ? printJson(toReportJson(report)) : printLine(formatReportLine(report))),
  };
}

type ListeningReport = { readonly listening: string; readonly behaviour: string | null; readonly seed: number };

function printListening({ json, each }: Flags, report: ListeningReport): void {
  const { listening: url, behaviour, seed } = report;
  if (json) printJson(report);
  else if (each) printLine(url);
  else if (behaviour === null) printLine(`Listening at ${url}<behaviour>, seed ${seed}. Press Ctrl-C to stop.`);
  else printLine(`Listening at ${url} with script ${behaviour}, seed ${seed}. Press Ctrl-C to stop.`);
}

/** Whether a listen error is caused by the address, so that no other port would work either. */
function isHostError(error: Error): boolean {
  return 'code' in error && ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(String(error.code));
}

function stopOnSignals(servers: readonly Server[]): void {
  const stop = () => void Promise.all(servers.map((one) => one.close())).then(() => process.exit(0));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
}

function writeCertificate(file: string, certificate: string): void {
  try {
    writeFileSync(file, certificate);
  } catch (error) {
    throw new UsageError(`--ca-file: ${error instanceof Error ? error.message : error}`);
  }
}

import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { systemClock } from '../clock.ts';
import { parseDuration } from '../durations.ts';
import { isLoopback } from '../loopback.ts';
import { systemChance } from '../secrets.ts';
import { behaviours } from './chaos/behaviours.ts';
import { createAuthority } from './chaos/certificates.ts';
import { chanceFrom } from './chaos/chance.ts';
import { type Receiver, type Setup, startReceiver } from './chaos/receiver.ts';
import { parseScript, play } from './chaos/script.ts';
import { listedAnswer, listedLines, schemeOf, visitedAnswer, visitedLine } from './chaos/shown.ts';
import { CliError } from './refusal.ts';
import { stdout } from './screen.ts';

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

/** `carillon chaos-receiver` */
export function addChaosReceiver(program: Command): void {
  const script = new Option(
    '--script <script>',
    'What to do with one request after the other, whatever its path: hang, or 503*2,200. Left out: the path says it.',
  );
  script.argChoices = behaviours.map(({ slug }) => slug);
  program
    .command('chaos-receiver')
    .description(
      'A receiver that misbehaves as it is told, to try any sender of webhooks with: http://127.0.0.1:8181/hang never answers, http://127.0.0.1:8181/503*2,200 answers 503 twice, then 200. Every port speaks plain HTTP and TLS.',
    )
    // Two hundred names would hide all the rest; completion has them.
    .configureHelp({ optionDescription: ({ description, defaultValue }) => withDefault(description, defaultValue) })
    .addOption(script.conflicts('each'))
    .option('--each', 'Give every behaviour a port of its own, from --port on; prints them.')
    .option('--list', 'Show all behaviours, and what a sender has to make of each.')
    .option('--port <number>', 'The port; 0 for any that is free.', '8181')
    .option('--host <address>', 'The address to listen on.', '127.0.0.1')
    .option(
      '--deadline <duration>',
      'How long the sender waits: what is too slow, and just not too slow, goes by it.',
      '15s',
    )
    .option('--pace <duration>', 'Between two bytes of what drips.', '1s')
    .option('--seed <number>', 'What chance comes from; left out, a new one each time, which is shown.')
    .option(
      '--ca-file <file>',
      'Write the certificate there that a sender has to trust for good TLS; it is new with every start.',
    )
    .option('--json', 'Print one JSON object a line, for programs.')
    .action(async (flags: Flags) => {
      if (flags.list) stdout.answer(flags, listedAnswer(), listedLines());
      else await receive(flags);
    });
}

const withDefault = (says: string, value: unknown) => (value === undefined ? says : `${says} (default: ${value})`);

async function receive(flags: Flags): Promise<void> {
  const seed = readSeed(flags.seed);
  const steps = flags.script === undefined ? undefined : parseScript(flags.script);
  if (steps !== undefined && 'fault' in steps)
    throw new CliError([`--script: ${steps.fault}. carillon chaos-receiver --list shows all.`]);
  const setup = setupOf(flags, seed);
  const port = readPort(flags.port, flags.each ? behaviours.length : 1);
  if (flags.caFile !== undefined) writeCertificate(flags.caFile, setup.authority.certificate);
  const scripts = flags.each
    ? behaviours.map((one) => ({ one, among: [one], script: { next: () => one } }))
    : [{ one: undefined, among: steps?.flatMap((step) => step.among), script: steps && play(steps, chanceFrom(seed)) }];
  const receivers: Receiver[] = [];
  stopOnSignals(receivers);
  for (const [index, { one, among, script }] of scripts.entries()) {
    const receiver = await startReceiver(setup, port === 0 ? 0 : port + index, script).catch(async (error: Error) => {
      await Promise.all(receivers.map((one) => one.close()));
      throw new CliError([`${isOfHost(error) ? '--host' : '--port'}: ${error.message}`]);
    });
    receivers.push(receiver);
    const url = `${schemeOf(among)}://${bracketed(flags.host)}:${receiver.port}/${one?.slug ?? ''}`;
    print(flags, { listening: url, behaviour: one?.slug ?? flags.script ?? null, seed });
  }
}

function setupOf(flags: Flags, seed: number): Setup {
  const names = isLoopback(flags.host) ? ['localhost', '127.0.0.1', '::1'] : ['localhost'];
  return {
    clock: systemClock,
    chance: chanceFrom(seed),
    seed,
    host: flags.host,
    deadlineMs: readDuration('deadline', flags.deadline),
    paceMs: readDuration('pace', flags.pace),
    authority: createAuthority([...new Set([...names, flags.host])], systemClock.now()),
    visited: (visited) => stdout.answer(flags, visitedAnswer(visited), [visitedLine(visited)]),
  };
}

type Listening = { readonly listening: string; readonly behaviour: string | null; readonly seed: number };

function print({ json, each }: Flags, listening: Listening): void {
  const { listening: url, behaviour, seed } = listening;
  const says = each
    ? `${url}`
    : `Listening at ${url}${behaviour === null ? '<behaviour>' : ` and doing ${behaviour}`}, seed ${seed}. Ctrl-C ends it.`;
  stdout.answer({ json }, listening, [says]);
}

/** Whether nobody can listen there, at whatever port. */
function isOfHost(error: Error): boolean {
  return 'code' in error && ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(String(error.code));
}

const bracketed = (host: string) => (host.includes(':') ? `[${host}]` : host);

function stopOnSignals(receivers: readonly Receiver[]): void {
  const stop = () => void Promise.all(receivers.map((one) => one.close())).then(() => process.exit(0));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
}

function writeCertificate(file: string, certificate: string): void {
  try {
    writeFileSync(file, certificate);
  } catch (error) {
    throw new CliError([`--ca-file: ${error instanceof Error ? error.message : error}`]);
  }
}

function readPort(text: string, many: number): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port === 0 || (port >= 1 && port + many - 1 <= 65_535)) return port;
  throw new CliError([`--port must be a number from 0 to ${65_536 - many}; ${text} is none.`]);
}

function readDuration(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1 && ms <= 3_600_000) return ms;
  throw new CliError([`--${flag} must be a duration from 1ms to 1h, such as 15s; ${text} is none.`]);
}

function readSeed(text: string | undefined): number {
  if (text === undefined) return Math.floor(systemChance.fraction() * 2 ** 31);
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw new CliError([`--seed must be a whole number below ${2 ** 32}; ${text} is none.`]);
}

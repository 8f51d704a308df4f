import { type Command, Option } from 'commander';
import { type Kind, kinds } from '../../../packages/sdk/src/api-types.ts';
import { environmentName } from '../../config/options.ts';
import { parseDuration } from '../../durations.ts';
import { SIGNING_SECRET_PREFIX } from '../../secrets.ts';
import type { ConnectionFlags } from '../client/connect.ts';
import { listenSecret } from '../client/connection-options.ts';
import { CliError } from '../output/cli-error.ts';
import { isCursor } from './cursor-file.ts';

export type ListenFlags = ConnectionFlags & {
  readonly forwardTo?: string;
  readonly kinds?: string;
  readonly scope?: 'own' | 'account';
  readonly cursorFile?: string;
  readonly after?: string;
  readonly fromNow?: true;
  readonly fromOldest?: true;
  readonly onceEach?: true;
  readonly timeout: string;
  readonly secret?: string;
  readonly json?: true;
};

export function addListenOptions(command: Command): Command {
  const scope = new Option('--scope <scope>', 'account: what anybody did, for admins.').choices(['own', 'account']);
  const kindsOption = new Option('--kinds <list>', 'These kinds alone, separated by commas.');
  kindsOption.argChoices = [...kinds];
  command
    .option(
      '--forward-to <url>',
      'POST each to this address, such as http://localhost:3000/hook, until it answers 200.',
    )
    .addOption(kindsOption)
    .addOption(scope)
    .option('--once-each', 'Go on after any answer; without it, what is not answered with 200 is sent again.')
    .option('--timeout <duration>', 'How long one answer may take.', '15s')
    .option(
      `--${listenSecret.flag} <${listenSecret.shape}>`,
      `${listenSecret.says} Also ${environmentName(listenSecret.flag)}.`,
    )
    .option('--json', 'Print one JSON object a line, for programs.');
  for (const option of startOptions()) command.addOption(option.helpGroup('Where to begin:'));
  return command;
}

/** Options for the start position, which exclude each other, and the cursor file. */
function startOptions(): readonly Option[] {
  const ways = [
    new Option('--after <cursor>', 'Behind this cursor, wherever it was before.'),
    new Option('--from-now', 'With what happens from now on; so it begins the first time.'),
    new Option('--from-oldest', 'With the oldest that is kept, 90 days ago at most.'),
  ];
  const names = ways.map((way) => way.attributeName());
  for (const way of ways) way.conflicts(names.filter((name) => name !== way.attributeName()));
  const file = 'Keep the cursor there; else in the state folder, by service, user, kinds, scope and address.';
  return [...ways, new Option('--cursor-file <file>', file)];
}

/** The validated flags. */
export type Asked = {
  readonly wanted: ReadonlySet<Kind>;
  /** Target URL; undefined without forwarding. */
  readonly target: string | undefined;
  readonly timeoutMs: number;
  readonly secret: string | undefined;
};

export function readAsked(flags: ListenFlags): Asked {
  if (flags.after !== undefined && !isCursor(flags.after))
    throw new CliError([`--after must be a cursor; ${flags.after} is none.`]);
  return {
    wanted: readKinds(flags.kinds),
    target: flags.forwardTo === undefined ? undefined : readTarget(flags.forwardTo),
    timeoutMs: readTimeout(flags.timeout),
    secret: readSecret(flags.secret ?? (process.env[environmentName(listenSecret.flag)] || undefined)),
  };
}

function readKinds(text: string | undefined): ReadonlySet<Kind> {
  const named = (text ?? kinds.join(',')).split(',').map((one) => one.trim());
  const wrong = named.filter((one) => !kinds.some((kind) => kind === one));
  if (wrong.length > 0) throw new CliError([`--kinds: ${wrong.join(', ')} is none of ${kinds.join(', ')}.`]);
  return new Set(kinds.filter((kind) => named.includes(kind)));
}

/** The scheme may be left out: `localhost:3000/hook`. */
function readTarget(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || url.username + url.password !== '' || !['http:', 'https:'].includes(url.protocol))
    throw new CliError(['--forward-to must be an http or https address, such as http://localhost:3000/hook.']);
  url.hash = '';
  return url.href;
}

function readTimeout(text: string): number {
  const timeoutMs = parseDuration(text);
  if (timeoutMs !== undefined && timeoutMs >= 100 && timeoutMs <= 3_600_000) return timeoutMs;
  throw new CliError([`--timeout must be a duration from 100ms to 1h, such as 15s; ${text} is none.`]);
}

function readSecret(text: string | undefined): string | undefined {
  if (text === undefined || (text.startsWith(SIGNING_SECRET_PREFIX) && text.length > SIGNING_SECRET_PREFIX.length))
    return text;
  throw new CliError([
    `--${listenSecret.flag} must begin with ${SIGNING_SECRET_PREFIX}, as the secret of a hook does.`,
  ]);
}

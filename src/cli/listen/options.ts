import { type Command, Option } from 'commander';
import { type FeedKind, feedKinds, hookKinds } from '../../../packages/sdk/src/api-types.ts';
import type { HookScope } from '../../../packages/sdk/src/hooks.ts';
import { environmentVariableOf } from '../../config/options.ts';
import { parseDuration } from '../../durations.ts';
import { SIGNING_SECRET_PREFIX } from '../../secrets.ts';
import { type ConnectionFlags, listenSecretOption } from '../client/connection-options.ts';
import { CliError } from '../output/screen.ts';
import { isCursor } from './cursor-file.ts';

export type ListenFlags = ConnectionFlags & {
  readonly forwardTo?: string;
  readonly kinds?: string;
  readonly events?: string;
  readonly scope?: HookScope;
  readonly project?: string;
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
  const scopeOption = new Option(
    '--scope <scope>',
    'own: your occurrences; project: those of all users in --project; account: those of all users, for admins.',
  ).choices(['own', 'project', 'account'] satisfies HookScope[]);
  const kindsOption = new Option('--kinds <list>', 'Only these kinds, separated by commas.');
  kindsOption.argChoices = [...hookKinds];
  const eventsOption = new Option('--events <list>', "Like --kinds, with all kinds of the feed; '*' for all.");
  eventsOption.argChoices = [ALL_EVENTS, ...feedKinds];
  command
    .option(
      '--forward-to <url>',
      'POST each occurrence to this URL, such as http://localhost:3000/hook, until it answers 200.',
    )
    .addOption(kindsOption)
    .addOption(eventsOption.conflicts('kinds'))
    .addOption(scopeOption)
    .option('--project <id>', 'Only this project and the records in it.')
    .option('--once-each', 'Continue after any response. Default: retry until the response is 200.')
    .option('--timeout <duration>', 'Timeout for a response.', '15s')
    .option(
      `--${listenSecretOption.flag} <${listenSecretOption.placeholder}>`,
      `${listenSecretOption.description} Also ${environmentVariableOf(listenSecretOption.flag)}.`,
    )
    .option('--json', 'Print one JSON object per line, for programs.');
  for (const option of createStartOptions()) command.addOption(option.helpGroup('Start position:'));
  return command;
}

/** Returns the options for the start position, which exclude each other, and the option for the cursor file. */
function createStartOptions(): readonly Option[] {
  const startOptions = [
    new Option('--after <cursor>', 'Start after this cursor.'),
    new Option('--from-now', 'Start with new occurrences (default at the first start).'),
    new Option('--from-oldest', 'Start with the oldest stored entry, up to 90 days old.'),
  ];
  const optionNames = startOptions.map((option) => option.attributeName());
  for (const option of startOptions) option.conflicts(optionNames.filter((name) => name !== option.attributeName()));
  const cursorFileDescription =
    'File for the cursor. Default: in the state folder, by service, user, kinds, scope, project and URL.';
  return [...startOptions, new Option('--cursor-file <file>', cursorFileDescription)];
}

/** The value of `--events` for all kinds, also for those that only the service knows. */
export const ALL_EVENTS = '*';

/** Validated settings of `carillon listen`. */
export type ListenSettings = {
  /** The selected kinds; undefined for all. */
  readonly selectedKinds: readonly FeedKind[] | undefined;
  /** URL that occurrences are forwarded to; undefined without forwarding. */
  readonly target: string | undefined;
  /** Timeout for the response of the target. */
  readonly timeoutMs: number;
  readonly signingSecret: string | undefined;
};

export function readListenSettings(flags: ListenFlags): ListenSettings {
  if (flags.after !== undefined && !isCursor(flags.after))
    throw new CliError([`--after must be a cursor; ${flags.after} is not one.`]);
  if (flags.project !== undefined && !/^[1-9]\d*$/.test(flags.project))
    throw new CliError([`--project must be the id of a project; ${flags.project} is not one.`]);
  if (flags.scope === 'project' && flags.project === undefined)
    throw new CliError(['--scope project needs --project.']);
  return {
    selectedKinds:
      flags.events === undefined
        ? readKinds('--kinds', flags.kinds ?? hookKinds.join(','), hookKinds)
        : readEvents(flags.events),
    target: flags.forwardTo === undefined ? undefined : readForwardTarget(flags.forwardTo),
    timeoutMs: readTimeout(flags.timeout),
    signingSecret: readSigningSecret(
      flags.secret ?? (process.env[environmentVariableOf(listenSecretOption.flag)] || undefined),
    ),
  };
}

function readEvents(text: string): readonly FeedKind[] | undefined {
  return text.trim() === ALL_EVENTS ? undefined : readKinds('--events', text, feedKinds);
}

function readKinds(flag: string, text: string, allowedKinds: readonly FeedKind[]): readonly FeedKind[] {
  const kindNames = text.split(',').map((name) => name.trim());
  const invalidNames = kindNames.filter((name) => !allowedKinds.some((kind) => kind === name));
  if (invalidNames.length > 0)
    throw new CliError([`${flag}: ${invalidNames.join(', ')} is not one of ${allowedKinds.join(', ')}.`]);
  return allowedKinds.filter((kind) => kindNames.includes(kind));
}

/** Reads the URL that occurrences are forwarded to. The scheme may be omitted, as in `localhost:3000/hook`. */
function readForwardTarget(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || url.username + url.password !== '' || !['http:', 'https:'].includes(url.protocol))
    throw new CliError(['--forward-to must be an http or https address, such as http://localhost:3000/hook.']);
  url.hash = '';
  return url.href;
}

function readTimeout(text: string): number {
  const timeoutMs = parseDuration(text);
  if (timeoutMs !== undefined && timeoutMs >= 100 && timeoutMs <= 3_600_000) return timeoutMs;
  throw new CliError([`--timeout must be a duration from 100ms to 1h, such as 15s; ${text} is not one.`]);
}

function readSigningSecret(text: string | undefined): string | undefined {
  if (text === undefined || (text.startsWith(SIGNING_SECRET_PREFIX) && text.length > SIGNING_SECRET_PREFIX.length))
    return text;
  throw new CliError([
    `--${listenSecretOption.flag} must begin with ${SIGNING_SECRET_PREFIX}, as the secret of a hook does.`,
  ]);
}

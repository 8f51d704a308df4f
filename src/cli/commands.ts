import { Command, CommanderError } from 'commander';
import { version } from '../version.ts';
import { CliError, onOutputError, stderr, stdout } from './output/screen.ts';

/**
 * A command. `summary` describes the command in the overview of the help. `loadCommand` imports the module of the
 * command, only when the command is used, and returns the function that registers the command.
 */
type CommandEntry = {
  readonly name: string;
  readonly summary: string;
  loadCommand(): Promise<(program: Command) => void>;
};

const OPERATOR_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'run the service',
    loadCommand: async () => (await import('./server/serve.ts')).addServeCommand,
  },
  {
    name: 'accounts',
    summary: 'manage accounts',
    loadCommand: async () => (await import('./admin/accounts.ts')).addAccountCommands,
  },
  {
    name: 'users',
    summary: 'manage users of an account',
    loadCommand: async () => (await import('./admin/accounts.ts')).addUserCommands,
  },
  {
    name: 'keys',
    summary: 'manage API keys of an account',
    loadCommand: async () => (await import('./admin/accounts.ts')).addKeyCommands,
  },
  {
    name: 'export',
    summary: 'export an account, or all of them, to a file',
    loadCommand: async () => (await import('./admin/export-import.ts')).addExportCommand,
  },
  {
    name: 'import',
    summary: 'import an export, or an account of another service',
    loadCommand: async () => (await import('./admin/export-import.ts')).addImportCommand,
  },
  {
    name: 'backup',
    summary: 'back up the database',
    loadCommand: async () => (await import('./admin/backup.ts')).addBackupCommand,
  },
  {
    name: 'restore',
    summary: 'restore a backup',
    loadCommand: async () => (await import('./admin/backup.ts')).addRestoreCommand,
  },
  {
    name: 'audit',
    summary: 'list the audit log',
    loadCommand: async () => (await import('./admin/audit.ts')).addAuditCommand,
  },
  {
    name: 'doctor',
    summary: 'check the installation and suggest fixes',
    loadCommand: async () => (await import('./admin/doctor.ts')).addDoctorCommands,
  },
];

const CLIENT_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'login',
    summary: 'save the URL of a service, a domain and a key',
    loadCommand: async () => (await import('./client/login.ts')).addLoginCommand,
  },
  {
    name: 'logout',
    summary: 'delete a saved login',
    loadCommand: async () => (await import('./client/login.ts')).addLogoutCommand,
  },
  {
    name: 'whoami',
    summary: 'show the service and the user of the login',
    loadCommand: async () => (await import('./client/login.ts')).addWhoamiCommand,
  },
  {
    name: 'listen',
    summary: 'show occurrences as they happen and forward them to a URL',
    loadCommand: async () => (await import('./client/listen.ts')).addListenCommand,
  },
  {
    name: 'trigger',
    summary: 'cause an occurrence, to test hooks',
    loadCommand: async () => (await import('./client/trigger.ts')).addTriggerCommands,
  },
  {
    name: 'mcp',
    summary: 'serve the API as tools, over the Model Context Protocol',
    loadCommand: async () => (await import('./client/mcp.ts')).addMcpCommand,
  },
  createResourceEntry('events', 'manage calendar events'),
  createResourceEntry('clients', 'manage clients'),
  createResourceEntry('contacts', 'manage contacts'),
  createResourceEntry('projects', 'manage projects'),
  createResourceEntry('tasks', 'manage tasks'),
  createResourceEntry('subtasks', 'manage subtasks'),
  createResourceEntry('time-entries', 'manage time entries of tasks'),
  createResourceEntry('comments', 'manage comments on projects and tasks'),
  createResourceEntry('teams', 'manage teams'),
  createResourceEntry('calendars', 'manage calendar subscriptions'),
  {
    name: 'import-calendar',
    summary: 'import the events of an .ics file',
    loadCommand: async () => (await import('./client/import-calendar.ts')).addImportCalendarCommand,
  },
  createResourceEntry('hooks', 'manage hooks'),
  createResourceEntry('deliveries', 'list and redeliver deliveries'),
  createResourceEntry('notifications', 'read the feed'),
  createResourceEntry('user', 'show the caller'),
  createResourceEntry('company', 'show the account'),
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    loadCommand: async () => (await import('./completion/completion.ts')).addCompletionCommand,
  },
];

/** Returns the entry for the command of a resource. Its subcommands are derived from the routes. */
function createResourceEntry(name: string, summary: string): CommandEntry {
  return {
    name,
    summary,
    loadCommand: async () => {
      const { addResourceCommand } = await import('./resource-commands/command.ts');
      return (program) => addResourceCommand(program, name);
    },
  };
}

const COMMAND_GROUPS = {
  'Operator commands (on the database):': OPERATOR_COMMANDS,
  'Client commands (through the service):': CLIENT_COMMANDS,
};

const EXIT_STATUS_HELP = `
Exit status: 0 on success and after Ctrl-C; 1 on failure, with one line for each error on standard error; 2 if
import --from-api left records out, which it lists.`;

/** Runs the command line. Errors are printed on standard error, one line each, with exit status 1. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  // A closed pipe is not an error: in `carillon … | head`, the reader closes the pipe early.
  onOutputError((error) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const commandArguments = argv.slice(2);
  // Escape uncaught errors, since their messages may contain untrusted text that Node would print unescaped. `serve`
  // installs its own handler.
  if (commandArguments[0] !== 'serve') process.on('uncaughtException', exitWithStackTrace);
  // Search the first three arguments, because `complete --` and `help` come before the name of the command.
  const program = await createProgram((name) => commandArguments.slice(0, 3).includes(name));
  try {
    if (commandArguments[0] === 'complete')
      (await import('./completion/completion.ts')).printSuggestions(program, commandArguments.slice(1));
    else await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else if (error instanceof CliError) stderr.print(...error.lines);
    else if (commandArguments[0] === 'serve') throw error;
    else exitWithStackTrace(error);
  }
}

function exitWithStackTrace(error: unknown): void {
  stderr.print(...String(error instanceof Error ? error.stack : error).split('\n'));
  process.exit(1);
}

/** Builds the program. Commands for which `mustLoad` is true are loaded; the others have only a name and a summary. */
export async function createProgram(mustLoad: (name: string) => boolean): Promise<Command> {
  const program = new Command('carillon')
    .description('Self-hosted project management with a REST API, a calendar and webhooks.')
    .version(version)
    .addHelpText('after', EXIT_STATUS_HELP)
    .configureOutput({
      writeOut: (text) => stdout.printText(text),
      writeErr: (text) => stderr.printText(text),
      outputError: (text, write) =>
        write(
          `${text.trim().replace(/\s+/g, (whitespace) => (whitespace.includes('\n') ? ' ' : whitespace))}; see carillon --help\n`,
        ),
    })
    .exitOverride();
  for (const [groupTitle, commandEntries] of Object.entries(COMMAND_GROUPS)) {
    program.commandsGroup(groupTitle);
    for (const { name, summary, loadCommand } of commandEntries) {
      if (mustLoad(name)) (await loadCommand())(program);
      else program.command(name);
      program.commands.at(-1)?.summary(summary);
    }
  }
  return program;
}

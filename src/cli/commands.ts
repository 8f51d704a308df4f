import { Command, CommanderError } from 'commander';
import { version } from '../version.ts';
import { CliError } from './output/cli-error.ts';
import { onOutputBroken, stderr, stdout } from './output/screen.ts';

/** A command: its name, its line in the overview, and its module, which is loaded only when needed. */
type CommandEntry = { readonly name: string; readonly summary: string; load(): Promise<(program: Command) => void> };

const OPERATORS: readonly CommandEntry[] = [
  { name: 'serve', summary: 'run the service', load: async () => (await import('./server/serve.ts')).addServe },
  {
    name: 'accounts',
    summary: 'accounts of the service',
    load: async () => (await import('./admin/accounts.ts')).addAccounts,
  },
  { name: 'users', summary: 'users of an account', load: async () => (await import('./admin/users.ts')).addUsers },
  { name: 'keys', summary: 'API keys of an account', load: async () => (await import('./admin/keys.ts')).addKeys },
  {
    name: 'export',
    summary: 'an account, or all, into a file',
    load: async () => (await import('./admin/export.ts')).addExport,
  },
  {
    name: 'import',
    summary: 'such a file into a database',
    load: async () => (await import('./admin/import.ts')).addImport,
  },
  {
    name: 'backup',
    summary: 'the database, as it is at one moment',
    load: async () => (await import('./admin/backup.ts')).addBackup,
  },
  {
    name: 'restore',
    summary: 'a backup in place of the database',
    load: async () => (await import('./admin/restore.ts')).addRestore,
  },
  { name: 'audit', summary: 'who did what', load: async () => (await import('./admin/audit.ts')).addAudit },
  {
    name: 'doctor',
    summary: 'what is wrong, and what to do',
    load: async () => (await import('./admin/doctor.ts')).addDoctor,
  },
];

const INTEGRATORS: readonly CommandEntry[] = [
  {
    name: 'login',
    summary: 'save where the service is, and a key',
    load: async () => (await import('./client/login.ts')).addLogin,
  },
  { name: 'logout', summary: 'forget them', load: async () => (await import('./client/login.ts')).addLogout },
  { name: 'whoami', summary: 'who one is there', load: async () => (await import('./client/login.ts')).addWhoami },
  {
    name: 'listen',
    summary: 'what happens, shown and forwarded to an address of yours',
    load: async () => (await import('./client/listen.ts')).addListen,
  },
  {
    name: 'trigger',
    summary: 'make something happen that hooks are told of',
    load: async () => (await import('./client/trigger.ts')).addTrigger,
  },
  {
    name: 'mcp',
    summary: 'what can be done, as tools for programs that speak the Model Context Protocol',
    load: async () => (await import('./client/mcp.ts')).addMcp,
  },
  resourceType('events', 'calendar events'),
  resourceType('clients', 'clients'),
  resourceType('contacts', 'whom one speaks to'),
  resourceType('projects', 'projects'),
  resourceType('tasks', 'tasks; complete and resume, too'),
  resourceType('subtasks', 'subtasks; complete and resume, too'),
  resourceType('time-entries', 'what was worked on tasks'),
  resourceType('comments', 'what is said about projects and tasks'),
  resourceType('teams', 'users who are assigned together'),
  resourceType('calendars', 'addresses at which calendars are subscribed to'),
  {
    name: 'import-calendar',
    summary: 'the events of an .ics file',
    load: async () => (await import('./client/import-calendar.ts')).addImportCalendar,
  },
  resourceType('hooks', 'who is told of what; restore and test, too'),
  resourceType('deliveries', 'what was told; redeliver, too'),
  resourceType('notifications', 'the feed: everything that happened'),
  resourceType('user', 'the caller'),
  resourceType('company', 'the account'),
  {
    name: 'completion',
    summary: 'completion for bash, zsh or fish',
    load: async () => (await import('./completion/completion.ts')).addCompletion,
  },
];

/** The command of a resource; its subcommands are derived from the routes. */
function resourceType(name: string, summary: string): CommandEntry {
  return {
    name,
    summary,
    load: async () => {
      const { addResourceType } = await import('./resource-commands/command.ts');
      return (program) => addResourceType(program, name);
    },
  };
}

const GROUPS = { 'For operators, on the database:': OPERATORS, 'For integrators, through the service:': INTEGRATORS };

const EPILOGUE = `
Exit status: 0 when it is done, also by Ctrl-C; 1 when not, and standard error summary why, a line for each thing to mend; 2 when
import --from-api had to leave records out, which it lists.`;

/** Runs the command line. Errors are printed on standard error, one line each, with exit status 1. */
export async function run(argv: readonly string[]): Promise<void> {
  // A reader that closes the pipe, such as `head`, is no error.
  onOutputBroken((error) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const words = argv.slice(2);
  // Node would print the error unescaped, including untrusted text in its message. `serve` has its own handler.
  if (words[0] !== 'serve') process.on('uncaughtException', endUnexpectedly);
  // Three words, because `complete` and `help` come before the name of the command.
  const program = await programOf((name) => words.slice(0, 3).includes(name));
  try {
    if (words[0] === 'complete') (await import('./completion/completion.ts')).printSuggestions(program, words.slice(1));
    else await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else if (error instanceof CliError) stderr.print(...error.lines);
    else if (words[0] === 'serve') throw error;
    else endUnexpectedly(error);
  }
}

function endUnexpectedly(error: unknown): void {
  stderr.print(...String(error instanceof Error ? error.stack : error).split('\n'));
  process.exit(1);
}

/** The program with all commands: those that `isWanted` selects in full, the others by name and summary only. */
export async function programOf(isWanted: (name: string) => boolean): Promise<Command> {
  const program = new Command('carillon')
    .description('A project calendar that rings your application.')
    .version(version)
    .addHelpText('after', EPILOGUE)
    .configureOutput({
      writeOut: (text) => stdout.printText(text),
      writeErr: (text) => stderr.printText(text),
      outputError: (text, write) =>
        write(`${text.trim().replace(/\s+/g, (blank) => (blank.includes('\n') ? ' ' : blank))}; see carillon --help\n`),
    })
    .exitOverride();
  for (const [group, entries] of Object.entries(GROUPS)) {
    program.commandsGroup(group);
    for (const { name, summary, load } of entries) {
      if (isWanted(name)) (await load())(program);
      else program.command(name);
      program.commands.at(-1)?.summary(summary);
    }
  }
  return program;
}

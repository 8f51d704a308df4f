import { Command, CommanderError } from 'commander';
import { version } from '../version.ts';
import { CliError } from './output/cli-error.ts';
import { onOutputBroken, stderr, stdout } from './output/screen.ts';

/** A command: its name, what the list of all says of it, and its file, which is loaded when it is asked for. */
type Row = { readonly name: string; readonly says: string; load(): Promise<(program: Command) => void> };

const OPERATORS: readonly Row[] = [
  { name: 'serve', says: 'run the service', load: async () => (await import('./server/serve.ts')).addServe },
  {
    name: 'accounts',
    says: 'accounts of the service',
    load: async () => (await import('./admin/accounts.ts')).addAccounts,
  },
  { name: 'users', says: 'users of an account', load: async () => (await import('./admin/users.ts')).addUsers },
  { name: 'keys', says: 'API keys of an account', load: async () => (await import('./admin/keys.ts')).addKeys },
  {
    name: 'export',
    says: 'an account, or all, into a file',
    load: async () => (await import('./admin/export.ts')).addExport,
  },
  {
    name: 'import',
    says: 'such a file into a database',
    load: async () => (await import('./admin/import.ts')).addImport,
  },
  {
    name: 'backup',
    says: 'the database, as it is at one moment',
    load: async () => (await import('./admin/backup.ts')).addBackup,
  },
  {
    name: 'restore',
    says: 'a backup in place of the database',
    load: async () => (await import('./admin/restore.ts')).addRestore,
  },
  { name: 'audit', says: 'who did what', load: async () => (await import('./admin/audit.ts')).addAudit },
  {
    name: 'doctor',
    says: 'what is wrong, and what to do',
    load: async () => (await import('./admin/doctor.ts')).addDoctor,
  },
];

const INTEGRATORS: readonly Row[] = [
  {
    name: 'login',
    says: 'save where the service is, and a key',
    load: async () => (await import('./client/login.ts')).addLogin,
  },
  { name: 'logout', says: 'forget them', load: async () => (await import('./client/login.ts')).addLogout },
  { name: 'whoami', says: 'who one is there', load: async () => (await import('./client/login.ts')).addWhoami },
  {
    name: 'listen',
    says: 'what happens, shown and forwarded to an address of yours',
    load: async () => (await import('./client/listen.ts')).addListen,
  },
  {
    name: 'trigger',
    says: 'make something happen that hooks are told of',
    load: async () => (await import('./client/trigger.ts')).addTrigger,
  },
  {
    name: 'mcp',
    says: 'what can be done, as tools for programs that speak the Model Context Protocol',
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
    says: 'the events of an .ics file',
    load: async () => (await import('./client/import-calendar.ts')).addImportCalendar,
  },
  resourceType('hooks', 'who is told of what; restore and test, too'),
  resourceType('deliveries', 'what was told; redeliver, too'),
  resourceType('notifications', 'the feed: everything that happened'),
  resourceType('user', 'the caller'),
  resourceType('company', 'the account'),
  {
    name: 'completion',
    says: 'completion for bash, zsh or fish',
    load: async () => (await import('./completion/completion.ts')).addCompletion,
  },
];

/** A noun of the interface: its commands are derived from its rows. */
function resourceType(name: string, says: string): Row {
  return {
    name,
    says,
    load: async () => {
      const { addResourceType } = await import('./resource-commands/command.ts');
      return (program) => addResourceType(program, name);
    },
  };
}

const GROUPS = { 'For operators, on the database:': OPERATORS, 'For integrators, through the service:': INTEGRATORS };

const EPILOGUE = `
Exit status: 0 when it is done, also by Ctrl-C; 1 when not, and standard error says why, a line for each thing to mend; 2 when
import --from-api had to leave records out, which it lists.`;

/** The command line: one file a command. What cannot be done is said in one line each on standard error, exit 1. */
export async function run(argv: readonly string[]): Promise<void> {
  // Whoever reads no further, such as `head`, has had enough.
  onOutputBroken((error) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const words = argv.slice(2);
  // Node itself would print an error as it is, with what a stranger wrote into its message. The service has its own way.
  if (words[0] !== 'serve') process.on('uncaughtException', endUnexpectedly);
  // `complete` and `help` are followed by the command that they are about.
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

/** The program with all its commands; those that are wanted whole, the others by their names. */
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
  for (const [group, rows] of Object.entries(GROUPS)) {
    program.commandsGroup(group);
    for (const { name, says, load } of rows) {
      if (isWanted(name)) (await load())(program);
      else program.command(name);
      program.commands.at(-1)?.summary(says);
    }
  }
  return program;
}

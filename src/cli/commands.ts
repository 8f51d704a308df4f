import { Command, CommanderError } from 'commander';
import { version } from '../version.ts';
import { addAccounts } from './accounts.ts';
import { addAudit } from './audit.ts';
import { addBackup } from './backup.ts';
import { addDoctor } from './doctor.ts';
import { addExport } from './export.ts';
import { addImport } from './import.ts';
import { addKeys } from './keys.ts';
import { Refusal } from './refusal.ts';
import { addRestore } from './restore.ts';
import { addServe } from './serve.ts';
import { addUsers } from './users.ts';

/** The command line: one file a command. What cannot be done is said in one line each on standard error, exit 1. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = new Command('carillon')
    .description('A project calendar that rings your application.')
    .version(version)
    .configureOutput({
      outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, ' ')}; see carillon --help\n`),
    })
    .exitOverride();
  addServe(program);
  addAccounts(program);
  addUsers(program);
  addKeys(program);
  addExport(program);
  addImport(program);
  addBackup(program);
  addRestore(program);
  addAudit(program);
  addDoctor(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else if (error instanceof Refusal) for (const line of error.lines) process.stderr.write(`${line}\n`);
    else throw error;
  }
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programOf } from '../../../src/cli/commands.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import { bytesOf } from '../../kit/database/database.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { Fixture } from './fixture.ts';

/** Names and values, of headers or environment variables. */
export type Caller = Readonly<Record<string, string>>;

/** Runs commands with secrets in their environment, and collects their output and files. */
export async function useCommands(
  fixture: Fixture,
  store: TestStore,
  context: Cleanup,
  environment: Caller,
  isFirst: boolean,
): Promise<void> {
  const [copy, file] = [join(fixture.folder, 'backup'), join(fixture.folder, 'export')];
  const other = await store.database(context);
  await runConcurrently(fixture, [[`export --to ${file}`], [`backup --to ${copy}`]]);
  fixture.collect('the export', readFileSync(file, 'latin1'));
  if (existsSync(copy)) fixture.collect('the backup', readFileSync(copy, 'latin1'));
  await fixture.run(['import', '--from', file], { CARILLON_DATABASE: other });
  fixture.collect('the database of the import', (await bytesOf(other)).toString('latin1'));
  await runConcurrently(fixture, [
    // A second import is rejected.
    [`import --from ${file}`, { CARILLON_DATABASE: other }],
    ['audit --json'],
    ['doctor --offline'],
    ...(isFirst ? databaseIndependentCommands(fixture, environment) : []),
  ]);
  fixture.collect('what commands say', await helpIn(fixture.environment));
}

type CommandLine = readonly [words: string, environment?: Caller];

/** Commands whose output does not depend on the database. */
function databaseIndependentCommands(fixture: Fixture, environment: Caller): readonly CommandLine[] {
  const wrongLogin = environment.CARILLON_SMTP_URL?.replace('carillon:', 'nobody:') ?? '';
  const noMailServer = environment.CARILLON_SMTP_URL?.replace('smtp:', 'imap:') ?? '';
  const lost = `postgres://carillon:${fixture.newSecret('the password of a database that is not there')}@127.0.0.1:9/none`;
  const badToken = fixture.newSecret('a token with a fault').slice(0, 15);
  fixture.register('a token that is too short', badToken);
  const elsewhere = { CARILLON_SERVICE: 'http://127.0.0.1:19', CARILLON_DOMAIN: 'acme.test' };
  return [
    ['audit'],
    ['keys list --domain acme.test --json'],
    ['doctor --json --mail-to owner@acme.test'],
    ['doctor --mail-to owner@acme.test', { CARILLON_SMTP_URL: wrongLogin, CARILLON_DATABASE: lost }],
    // A start that is rejected prints the reason, but no value.
    ['serve', { CARILLON_PORT: 'none', CARILLON_SMTP_URL: noMailServer, CARILLON_METRICS_TOKEN: badToken }],
    ['serve', { CARILLON_DATABASE: lost }],
    ['clients list', { ...elsewhere, CARILLON_KEY: fixture.newSecret('a key in the environment') }],
  ];
}

/** Runs commands, three at a time. */
async function runConcurrently(fixture: Fixture, commands: readonly CommandLine[]): Promise<void> {
  const waiting = [...commands];
  const queue = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [words, more] = next;
      const { code } = await fixture.run(words.split(' '), more);
      if (code === null) throw new Error(`carillon ${words} did not end by itself`);
    }
  };
  await Promise.all([queue(), queue(), queue()]);
}

/** The help texts of every command, with secrets in the environment. */
async function helpIn(environment: Caller): Promise<string> {
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const { commands } = await programOf(() => true);
    return commands
      .flatMap((one) => [one, ...one.commands])
      .map((one) => one.helpInformation())
      .join('');
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

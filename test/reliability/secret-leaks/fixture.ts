import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { createProgram } from '../../../src/cli/commands.ts';
import { newToken, systemRandom } from '../../../src/secrets.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { openStoreAt, readAllBytes } from '../../kit/database/database.ts';
import { type CommandResult, runCarillon } from '../../kit/service/command.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { SearchedPlace, Secret } from './secrets.ts';

/** A folder and an environment full of secrets, and everything that was printed or written there. */
export class LeakFixture {
  readonly secrets: Secret[] = [];
  readonly folder: string;
  readonly #places = new Map<string, string>();
  readonly environment: Record<string, string>;

  constructor(context: Cleanup) {
    this.folder = createTemporaryFolder(context);
    const [home, temporary] = [join(this.folder, 'home'), join(this.folder, 'tmp')];
    mkdirSync(home);
    mkdirSync(temporary);
    this.environment = { HOME: home, TMPDIR: temporary, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home };
  }

  /** Creates a secret. `allowedIn` names the places that may contain it. */
  createSecret(what: string, allowedIn: readonly string[] = []): string {
    const text = newToken(systemRandom);
    this.registerSecret(what, text, allowedIn);
    return text;
  }

  /** Registers a secret that the service has created. */
  registerSecret(what: string, text: string, allowedIn: readonly string[] = []): void {
    if (text.length < 12) throw new Error(`there is no ${what}: ${JSON.stringify(text)}`);
    // The common prefix of keys is not secret; the rest is the key.
    this.secrets.push({ what, text: text.replace(/^carillon_/, ''), allowedIn });
  }

  /** Adds output to a place that is searched later. */
  collectOutput(name: string, text: string): void {
    this.#places.set(name, (this.#places.get(name) ?? '') + text);
  }

  /** Runs a command with all secrets in its environment, and collects its output. */
  async run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
    const ended = await runCarillon(args, { environment: { ...this.environment, ...more }, cwd: this.folder });
    this.collectOutput('what commands say', ended.stdout);
    this.collectOutput('what commands complain of', ended.stderrLines.join('\n'));
    return ended;
  }

  searchedPlaces(): SearchedPlace[] {
    const all = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    const kept = all.filter((entry) => entry.isFile() && entry.parentPath !== this.folder);
    return [
      ...[...this.#places].map(([name, text]) => ({ name, bytes: Buffer.from(text) })),
      { name: 'the names of files', bytes: Buffer.from(all.map(({ name }) => name).join('\n')) },
      {
        name: 'temporary files',
        bytes: Buffer.concat(kept.map((entry) => readFileSync(join(entry.parentPath, entry.name)))),
      },
    ];
  }
}

/** Returns the address of a database whose password is a registered secret. A SQLite database has no password. */
export async function createDatabaseWithPassword(
  store: TestStore,
  context: Cleanup,
  fixture: LeakFixture,
): Promise<string> {
  if (store.name === 'SQLite') return store.database(context);
  // This is a separate connection, because the role can be dropped only after its database.
  const admin = await openStoreAt(context, await store.database(context), { openAs: 'command' });
  const password = fixture.createSecret('the password of the database');
  const role = `canary_${process.pid}_${Date.now()}`;
  await sql.raw(`create role ${role} superuser login password '${password}'`).execute(admin.read);
  atEnd(context, () => sql.raw(`drop role if exists ${role}`).execute(admin.read));
  const address = new URL(await store.database(context));
  [address.username, address.password] = [role, password];
  return address.href;
}

/** Names and values, of headers or environment variables. */
export type NameValues = Readonly<Record<string, string>>;

/** Runs commands with secrets in their environment, and collects their output and files. */
export async function useCommands(
  fixture: LeakFixture,
  store: TestStore,
  context: Cleanup,
  environment: NameValues,
  isFirst: boolean,
): Promise<void> {
  const [copy, file] = [join(fixture.folder, 'backup'), join(fixture.folder, 'export')];
  const other = await store.database(context);
  await runConcurrently(fixture, [[`export --to ${file}`], [`backup --to ${copy}`]]);
  fixture.collectOutput('the export', readFileSync(file, 'latin1'));
  if (existsSync(copy)) fixture.collectOutput('the backup', readFileSync(copy, 'latin1'));
  await fixture.run(['import', '--from', file], { CARILLON_DATABASE: other });
  fixture.collectOutput('the database of the import', (await readAllBytes(other)).toString('latin1'));
  await runConcurrently(fixture, [
    // A second import into the same database is rejected.
    [`import --from ${file}`, { CARILLON_DATABASE: other }],
    ['audit --json'],
    ['doctor --offline'],
    ...(isFirst ? databaseIndependentCommands(fixture, environment) : []),
  ]);
  fixture.collectOutput('what commands say', await renderHelp(fixture.environment));
}

type CommandLine = readonly [words: string, environment?: NameValues];

/** Returns commands whose output does not depend on the database. */
function databaseIndependentCommands(fixture: LeakFixture, environment: NameValues): readonly CommandLine[] {
  const wrongLogin = environment.CARILLON_SMTP_URL?.replace('carillon:', 'nobody:') ?? '';
  const noMailServer = environment.CARILLON_SMTP_URL?.replace('smtp:', 'imap:') ?? '';
  const lost = `postgres://carillon:${fixture.createSecret('the password of a database that is not there')}@127.0.0.1:9/none`;
  const badToken = fixture.createSecret('a token with a fault').slice(0, 15);
  fixture.registerSecret('a token that is too short', badToken);
  const elsewhere = { CARILLON_SERVICE: 'http://127.0.0.1:19', CARILLON_DOMAIN: 'acme.test' };
  return [
    ['audit'],
    ['keys list --domain acme.test --json'],
    ['doctor --json --mail-to owner@acme.test'],
    ['doctor --mail-to owner@acme.test', { CARILLON_SMTP_URL: wrongLogin, CARILLON_DATABASE: lost }],
    // A start that is rejected prints the reason, but no value.
    ['serve', { CARILLON_PORT: 'none', CARILLON_SMTP_URL: noMailServer, CARILLON_METRICS_TOKEN: badToken }],
    ['serve', { CARILLON_DATABASE: lost }],
    ['clients list', { ...elsewhere, CARILLON_KEY: fixture.createSecret('a key in the environment') }],
  ];
}

/** Runs commands, three at a time. */
async function runConcurrently(fixture: LeakFixture, commands: readonly CommandLine[]): Promise<void> {
  const waiting = [...commands];
  const runWaiting = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [words, more] = next;
      const { code } = await fixture.run(words.split(' '), more);
      if (code === null) throw new Error(`carillon ${words} did not end by itself`);
    }
  };
  await Promise.all([runWaiting(), runWaiting(), runWaiting()]);
}

/** Returns the help texts of every command, with secrets in the environment. */
async function renderHelp(environment: NameValues): Promise<string> {
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const { commands } = await createProgram(() => true);
    return commands
      .flatMap((one) => [one, ...one.commands])
      .map((one) => one.helpInformation())
      .join('');
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

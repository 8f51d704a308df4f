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

/** Everything that was printed or written in one place, such as the log, with the name of the place. */
export type SearchedPlace = { readonly name: string; readonly bytes: Buffer };

/** A secret, with the places that may contain it. */
export type Secret = { readonly what: string; readonly text: string; readonly allowedIn: readonly string[] };

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

/** Minimum length of a secret of which a part already counts as a leak. */
const MIN_LENGTH_FOR_PARTS = 40;
/** Number of consecutive characters of a long secret that count as a leak. */
const PART_LENGTH = 20;

/** Returns the forms in which a secret may appear: as it is, in part, or encoded. */
function secretForms(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  const parts = text.length < MIN_LENGTH_FOR_PARTS ? [] : [text.slice(0, PART_LENGTH), text.slice(-PART_LENGTH)];
  const written = [encodeURIComponent(text), JSON.stringify(text).slice(1, -1), hex, hex.toUpperCase()];
  return [...new Set([text, ...parts, ...written, ...base64Forms(text, 'base64'), ...base64Forms(text, 'base64url')])];
}

/**
 * Returns the base64 forms of a secret. Base64 encodes three bytes as four characters, so there is one form for
 * each offset of the secret, without the characters that are shared with neighboring bytes.
 */
function base64Forms(text: string, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.from(' '.repeat(before) + text);
    const written = whole.subarray(0, whole.length - (whole.length % 3)).toString(encoding);
    return before === 0 ? written : written.slice(4);
  });
}

/**
 * Reports every secret that is found in a place that must not contain it, and every secret that is missing in a
 * place that must contain it.
 */
export function findLeaks(secrets: readonly Secret[], places: readonly SearchedPlace[]): string[] {
  const broken: string[] = [];
  for (const { what, text, allowedIn } of secrets) {
    const found = new Set(
      places.filter(({ bytes }) => secretForms(text).some((form) => bytes.includes(form))).map(({ name }) => name),
    );
    for (const name of found) if (!allowedIn.includes(name)) broken.push(`${what} is in ${name}`);
    for (const name of allowedIn) {
      const isThere = places.some((place) => place.name === name);
      if (isThere && !found.has(name))
        broken.push(`${what} is not found in ${name}, which must contain it: the scan is blind`);
    }
  }
  return broken;
}

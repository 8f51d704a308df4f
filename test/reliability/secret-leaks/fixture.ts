import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { newToken, systemRandom } from '../../../src/secrets.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { openAt } from '../../kit/database/database.ts';
import { carillon, type Ended } from '../../kit/service/command.ts';
import { temporaryFolder } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { Place, Secret } from './secrets.ts';

/** A folder and an environment full of secrets, and everything that was printed or written there. */
export class Fixture {
  readonly secrets: Secret[] = [];
  readonly folder: string;
  readonly #places = new Map<string, string>();
  readonly environment: Record<string, string>;

  constructor(context: Cleanup) {
    this.folder = temporaryFolder(context);
    const [home, temporary] = [join(this.folder, 'home'), join(this.folder, 'tmp')];
    mkdirSync(home);
    mkdirSync(temporary);
    this.environment = { HOME: home, TMPDIR: temporary, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home };
  }

  /** Creates a secret. `allowedIn` names the places that may contain it. */
  newSecret(what: string, allowedIn: readonly string[] = []): string {
    const text = newToken(systemRandom);
    this.register(what, text, allowedIn);
    return text;
  }

  /** Registers a secret that the service has created. */
  register(what: string, text: string, allowedIn: readonly string[] = []): void {
    if (text.length < 12) throw new Error(`there is no ${what}: ${JSON.stringify(text)}`);
    // The common prefix of keys is not secret; the rest is the key.
    this.secrets.push({ what, text: text.replace(/^carillon_/, ''), allowedIn });
  }

  /** Adds output to a place that is searched later. */
  collect(name: string, text: string): void {
    this.#places.set(name, (this.#places.get(name) ?? '') + text);
  }

  /** Runs a command with all secrets in its environment, and collects its output. */
  async run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const ended = await carillon(args, { environment: { ...this.environment, ...more }, cwd: this.folder });
    this.collect('what commands say', ended.stdout);
    this.collect('what commands complain of', ended.faults.join('\n'));
    return ended;
  }

  places(): Place[] {
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

/** Returns the address of a database whose password is a registered secret; SQLite has none. */
export async function databaseOf(store: TestStore, context: Cleanup, fixture: Fixture): Promise<string> {
  if (store.name === 'SQLite') return store.database(context);
  // A separate connection, because the role can be dropped only after its database.
  const admin = await openAt(context, await store.database(context), { as: 'command' });
  const password = fixture.newSecret('the password of the database');
  const role = `canary_${process.pid}_${Date.now()}`;
  await sql.raw(`create role ${role} superuser login password '${password}'`).execute(admin.read);
  atEnd(context, () => sql.raw(`drop role if exists ${role}`).execute(admin.read));
  const address = new URL(await store.database(context));
  [address.username, address.password] = [role, password];
  return address.href;
}

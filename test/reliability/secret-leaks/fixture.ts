import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { newToken, systemRandom } from '../../../src/secrets.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { carillon, type Ended } from '../../kit/command.ts';
import { openAt } from '../../kit/database.ts';
import { temporaryFolder } from '../../kit/service.ts';
import type { TestStore } from '../../kit/stores.ts';
import type { Canary, Place } from './secrets.ts';

/** Where all is tried: a folder of its own, an environment full of secrets, and what was said and written there. */
export class Fixture {
  readonly canaries: Canary[] = [];
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

  /** A new secret, and where it is meant to stand. */
  secret(what: string, standsIn: readonly string[] = []): string {
    const text = newToken(systemRandom);
    this.keep(what, text, standsIn);
    return text;
  }

  /** A secret that the service has made. */
  keep(what: string, text: string, standsIn: readonly string[] = []): void {
    if (text.length < 12) throw new Error(`there is no ${what}: ${JSON.stringify(text)}`);
    // What all keys begin with is no secret, and whoever has the rest has the key.
    this.canaries.push({ what, text: text.replace(/^carillon_/, ''), standsIn });
  }

  /** What was said or written somewhere, to be looked through. */
  said(name: string, text: string): void {
    this.#places.set(name, (this.#places.get(name) ?? '') + text);
  }

  /** Runs a command with all secrets around it; what it says is looked through. */
  async run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const ended = await carillon(args, { environment: { ...this.environment, ...more }, cwd: this.folder });
    this.said('what commands say', ended.stdout);
    this.said('what commands complain of', ended.faults.join('\n'));
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

/** A database whose password is a secret of the fixture; a SQLite file has none. */
export async function databaseOf(store: TestStore, context: Cleanup, fixture: Fixture): Promise<string> {
  if (store.name === 'SQLite') return store.database(context);
  // A role outlives the databases that it has something in.
  const beside = await openAt(context, await store.database(context), { as: 'command' });
  const password = fixture.secret('the password of the database');
  const role = `canary_${process.pid}_${Date.now()}`;
  await sql.raw(`create role ${role} superuser login password '${password}'`).execute(beside.read);
  atEnd(context, () => sql.raw(`drop role if exists ${role}`).execute(beside.read));
  const address = new URL(await store.database(context));
  [address.username, address.password] = [role, password];
  return address.href;
}

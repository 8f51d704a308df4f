import { existsSync } from 'node:fs';
import { note } from '../../audit/actions.ts';
import { systemClock } from '../../clock.ts';
import { type Config, loadConfig } from '../../config/load.ts';
import { hooksOf } from '../../import-from-api/hooks.ts';
import { type Moved, moveIn } from '../../import-from-api/move.ts';
import { createSource } from '../../import-from-api/source.ts';
import { Work } from '../../import-from-api/work.ts';
import { permissionsOf } from '../../permissions.ts';
import { insertInvitation, linkTo } from '../../resources/invitations/invitations.ts';
import { insertKey } from '../../resources/keys/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { TransferError } from '../../transfer/transfer-error.ts';
import { faultsAsRefusals, print, withAccount, withStore, withStoreAlone } from '../admin/open-database.ts';
import { readBaseUrl } from '../client/base-url.ts';
import { CliError } from '../output/cli-error.ts';
import { progressOf } from '../output/progress.ts';
import { stderr } from '../output/screen.ts';
import { makeHooks } from './hooks.ts';
import { answerOf, linesOf } from './report.ts';
import { type FromApiFlags, readSettings } from './settings.ts';

/** Exit status if the account was imported without some of its records. */
const EXIT_WITH_SKIPPED = 2;

/** `carillon import --from-api …` */
export async function importFromApi(address: string, flags: FromApiFlags): Promise<void> {
  const settings = readSettings(address, flags);
  const consoleUrl = readBaseUrl(flags);
  const { domain, paths } = settings;
  const say = flags.quiet ? () => undefined : (line: string) => stderr.print(line);
  if (settings.isInTheClear) say(`${settings.base} is http: the key is sent unencrypted.`);
  const source = createSource({ ...settings, clock: systemClock, say });
  await faultsAsRefusals(async () => {
    const work = new Work(paths.work);
    try {
      requireSameSource(work, { base: settings.base, from: settings.from }, paths);
      const moved = await moveIn({
        ...settings,
        source,
        work,
        say,
        clock: systemClock,
        progress: progressOf(flags),
        withStore: (job) => withStore(flags, job),
        withExclusiveStore: (job) => withStoreAlone(flags, job),
      });
      const hooks = await hooksOf(source).catch((error: unknown) => {
        // The account is imported; unreadable hooks must not fail the command.
        if (!(error instanceof TransferError)) throw error;
        say(error.message);
        return undefined;
      });
      const account = { ...flags, domain };
      const { key, token } = await issueAccess(account, moved, settings.base);
      const made = flags.hooks ? await makeHooks(account, moved.ownerId, hooks ?? [], readConfig()) : hooks;
      const arrival = { moved, key, link: linkTo(consoleUrl, token), paths, hooks: made };
      print(flags, answerOf(arrival), linesOf(arrival));
      work.remove();
      if (moved.compared.some(({ isSame }) => !isSame)) process.exitCode = 1;
      if (moved.leftOut > 0) process.exitCode = EXIT_WITH_SKIPPED;
    } catch (error) {
      throw isSystemError(error) ? new TransferError(`A file cannot be written: ${error.message}.`) : error;
    } finally {
      work.close();
    }
  });
}

/** Errors of the file system or of the work file, such as a full disk. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && ('syscall' in error || 'errcode' in error);
}

type Paths = { readonly report: string; readonly idMap: string };

/** Rejects a work file of another source, and reports of another run, which would be overwritten. */
function requireSameSource(work: Work, now: { base: string; from: string }, { report, idMap }: Paths): void {
  const stored = work.fact<typeof now>('source');
  const begun = stored ?? now;
  const existing = stored === undefined ? [report, idMap].filter((path) => existsSync(path)) : [];
  if (existing.length > 0)
    throw new CliError(existing.map((path) => `${path} already exists: give other files with --report and --id-map.`));
  if (begun.base !== now.base || begun.from !== now.from)
    throw new CliError([
      `${work.path} belongs to an import of ${begun.from} from ${begun.base}: give another file with --work.`,
    ]);
  work.setFact('source', begun);
}

/** Issues a new key and an invitation for the owner, since keys and passphrases are not imported. */
async function issueAccess(
  flags: FromApiFlags & { readonly domain: string },
  { ownerId, compared }: Moved,
  base: string,
): Promise<{ key: string; token: string }> {
  return withAccount(flags, async (write) => {
    const user = await write
      .selectFrom('users')
      .select('users.role')
      .where('users.user_id', '=', ownerId)
      .executeTakeFirstOrThrow();
    const records = Object.fromEntries(compared.map(({ resourceType, here }) => [resourceType, here]));
    note(write, { action: 'account.moved_in', subject: `account ${flags.domain}`, detail: { from: base, ...records } });
    const role = user.role === 'owner' || user.role === 'admin' ? user.role : 'member';
    const wanted = { userId: ownerId, label: 'moved in', permissions: permissionsOf(role), expiresAt: null };
    const { key = '' } = await insertKey(write, wanted, systemRandom);
    const { token } = await insertInvitation(write, ownerId, systemRandom);
    return { key: String(key), token };
  });
}

/** The configuration of a service in this environment; it determines which targets are allowed. */
function readConfig(): Config {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  if ('faults' in loaded) throw new CliError(loaded.faults);
  return loaded.config;
}

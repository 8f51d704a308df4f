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

/** The exit code where the account is in, without some of its records. */
const SKIPPED = 2;

/** `carillon import --from-api …` */
export async function importFromApi(address: string, flags: FromApiFlags): Promise<void> {
  const settings = readSettings(address, flags);
  const consoleUrl = readBaseUrl(flags);
  const { domain, paths } = settings;
  const say = flags.quiet ? () => undefined : (line: string) => stderr.print(line);
  if (settings.isInTheClear) say(`${settings.base} is http: the key goes there as anyone on the way can read it.`);
  const source = createSource({ ...settings, clock: systemClock, say });
  await faultsAsRefusals(async () => {
    const work = new Work(paths.work);
    try {
      mustBeTheSame(work, { base: settings.base, from: settings.from }, paths);
      const moved = await moveIn({
        ...settings,
        source,
        work,
        say,
        clock: systemClock,
        progress: progressOf(flags),
        beside: (job) => withStore(flags, job),
        alone: (job) => withStoreAlone(flags, job),
      });
      const hooks = await hooksOf(source).catch((error: unknown) => {
        // The account is in: nothing keeps its owner from it any more.
        if (!(error instanceof TransferError)) throw error;
        say(error.message);
        return undefined;
      });
      const account = { ...flags, domain };
      const { key, token } = await letIn(account, moved, settings.base);
      const made = flags.hooks ? await makeHooks(account, moved.ownerId, hooks ?? [], readConfig()) : hooks;
      const arrival = { moved, key, link: linkTo(consoleUrl, token), paths, hooks: made };
      print(flags, answerOf(arrival), linesOf(arrival));
      work.remove();
      if (moved.compared.some(({ isSame }) => !isSame)) process.exitCode = 1;
      if (moved.leftOut > 0) process.exitCode = SKIPPED;
    } catch (error) {
      throw isOfTheSystem(error) ? new TransferError(`It cannot be written down: ${error.message}.`) : error;
    } finally {
      work.close();
    }
  });
}

/** What a file or a full disk says. */
function isOfTheSystem(error: unknown): error is Error {
  return error instanceof Error && ('syscall' in error || 'errcode' in error);
}

type Paths = { readonly report: string; readonly idMap: string };

/** What was begun with one service does not go on with another, and nothing is written over that is of another run. */
function mustBeTheSame(work: Work, now: { base: string; from: string }, { report, idMap }: Paths): void {
  const known = work.fact<typeof now>('source');
  const begun = known ?? now;
  const there = known === undefined ? [report, idMap].filter((path) => existsSync(path)) : [];
  if (there.length > 0)
    throw new CliError(there.map((path) => `${path} is there already: --report and --id-map can name others.`));
  if (begun.base !== now.base || begun.from !== now.from)
    throw new CliError([`${work.path} was begun with ${begun.from} at ${begun.base}: --work must name another file.`]);
  work.setFact('source', begun);
}

/** Keys do not come along: the owner gets a new one, and a link to the console, this once. */
async function letIn(
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

/** What a service on this database would run with, as far as it says which targets are allowed. */
function readConfig(): Config {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  if ('faults' in loaded) throw new CliError(loaded.faults);
  return loaded.config;
}

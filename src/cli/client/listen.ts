import type { Command } from 'commander';
import type { HookKind } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { systemClock } from '../../clock.ts';
import {
  defaultCursorFile,
  type ListenerIdentity,
  readCursor,
  type SavedCursor,
  saveCursor,
} from '../listen/cursor-file.ts';
import { cursorGoneLines, FeedReader } from '../listen/feed.ts';
import { Forwarder } from '../listen/forward.ts';
import { addListenOptions, type ListenFlags, type ListenSettings, readSettings } from '../listen/options.ts';
import { Notices, occurrenceJson, printOccurrence } from '../listen/print.ts';
import { CliError, stderr, stdout } from '../output/screen.ts';
import { addConnectionOptions, type ServiceClient, withService } from './connect.ts';

/** Registers the command `carillon listen`. */
export function addListen(program: Command): void {
  const command = program
    .command('listen')
    .description(
      'Show each occurrence with its record, and forward it to a URL as the service would notify a hook. The cursor is saved on disk: after sleep, a restart or a network failure it continues where it stopped and misses nothing.',
    );
  addConnectionOptions(addListenOptions(command)).action(async (flags: ListenFlags) => {
    const settings = readSettings(flags);
    const stopped = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
    try {
      await withService(flags, (resolved) => listen(resolved, flags, settings, stopped.signal));
    } catch (error) {
      // After SIGINT or SIGTERM, the error only reports the abort. The next start repeats an unfinished forward.
      if (!stopped.signal.aborted) throw error;
    }
  });
}

async function listen(
  resolved: ServiceClient,
  flags: ListenFlags,
  settings: ListenSettings,
  signal: AbortSignal,
): Promise<void> {
  const { service, domain } = resolved.connection;
  const { user_id, email } = await resolved.carillon.user.get({ signal });
  const { target, timeoutMs, secret, wanted } = settings;
  const kinds = flags.kinds === undefined ? '' : [...wanted].join(',');
  const listener = { service, domain, user_id, forward_to: target ?? '', kinds, scope: flags.scope ?? 'own' };
  const notes = new Notices((line) => stderr.print(line));
  const feed = new FeedReader(resolved, {
    scope: flags.scope,
    kind: singleKind(wanted),
    signal,
    clock: systemClock,
    onUnreachable: (error) => notes.reportUnreachable(service, error),
    onReachable: () => notes.reportReachable(service),
  });
  const file = flags.cursorFile || defaultCursorFile(listener);
  const start = await startPosition(flags, feed, file, listener);
  const behind = start === undefined ? 'from the oldest stored entry' : `after cursor ${start.cursor}`;
  const where = target === undefined ? '' : `, forwarding to ${target}`;
  stderr.print(`Listening to ${service} as ${email} of ${domain}, ${behind}${where}. Press Ctrl-C to stop.`);
  const { onceEach = false, json = false } = flags;
  const forwarder =
    target === undefined
      ? undefined
      : new Forwarder(listener, {
          target,
          timeoutMs,
          secret,
          onceEach,
          signal,
          onFailedAttempt: (entry, result) => notes.reportFailure(entry, target, result),
        });
  await followFeed({ feed, forwarder, notes, wanted, file, listener, json }, start);
}

function singleKind(wanted: ReadonlySet<HookKind>): HookKind | undefined {
  const [only, ...more] = wanted;
  return more.length === 0 ? only : undefined;
}

/**
 * Returns the start position, from the flags, the saved cursor or the end of the feed. Undefined means the oldest
 * stored entry.
 */
async function startPosition(
  flags: ListenFlags,
  feed: FeedReader,
  file: string,
  listener: ListenerIdentity,
): Promise<SavedCursor | undefined> {
  if (flags.fromOldest) return undefined;
  if (flags.after !== undefined) return { cursor: flags.after, occurred_at: '' };
  const saved = flags.fromNow ? undefined : readCursor(file, listener);
  if (saved !== undefined) return saved;
  const now = { cursor: await feed.endCursor(), occurred_at: '' };
  // Save the cursor now, so that nothing is missed if the command stops before the first occurrence.
  saveCursor(file, listener, now);
  return now;
}

type ListenContext = {
  readonly feed: FeedReader;
  readonly forwarder: Forwarder | undefined;
  readonly notes: Notices;
  readonly wanted: ReadonlySet<string>;
  readonly file: string;
  readonly listener: ListenerIdentity;
  readonly json: boolean;
};

/** Handles occurrences in order, one at a time. The cursor moves after an occurrence was forwarded and printed. */
async function followFeed(context: ListenContext, start: SavedCursor | undefined): Promise<void> {
  const { feed, forwarder, notes, wanted, file, listener, json } = context;
  let position = start ?? { cursor: '', occurred_at: '' };
  const advance = (cursor: string, occurred_at = position.occurred_at) => {
    if (cursor !== position.cursor) saveCursor(file, listener, { cursor, occurred_at });
    position = { cursor, occurred_at };
  };
  try {
    for await (const { data, next } of feed.pages(start?.cursor)) {
      for (const entry of data.filter(({ kind }) => wanted.has(kind))) {
        const [record, result] = await Promise.all([feed.fetchRecord(entry), forwarder?.forward(entry)]);
        if (result !== undefined) notes.explainOutcome(result);
        const received = { entry, record, forwarded: result };
        if (json) stdout.printJson(occurrenceJson(received));
        else printOccurrence(received, stdout);
        advance(entry.cursor, entry.occurred_at);
      }
      advance(next);
    }
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'cursor_gone') throw error;
    throw new CliError(cursorGoneLines(position, await feed.oldestEntry()));
  }
}

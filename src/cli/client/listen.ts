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
import { FeedReader, formatCursorGoneError } from '../listen/feed.ts';
import { Forwarder } from '../listen/forward.ts';
import { addListenOptions, type ListenFlags, type ListenSettings, readListenSettings } from '../listen/options.ts';
import { Notices, printOccurrence, toOccurrenceJson } from '../listen/print.ts';
import { CliError, stderr, stdout } from '../output/screen.ts';
import { addConnectionOptions, type ServiceClient, withService } from './connect.ts';

/** Registers the command `carillon listen`. */
export function addListenCommand(program: Command): void {
  const command = program
    .command('listen')
    .description(
      'Show each occurrence with its record, and forward it to a URL as the service would notify a hook. The cursor is saved on disk: after sleep, a restart or a network failure it continues where it stopped and misses nothing.',
    );
  addConnectionOptions(addListenOptions(command)).action(async (flags: ListenFlags) => {
    const settings = readListenSettings(flags);
    const abortController = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abortController.abort());
    try {
      await withService(flags, (client) => listen(client, flags, settings, abortController.signal));
    } catch (error) {
      // After SIGINT or SIGTERM, the error only reports the abort. The next start forwards an unfinished occurrence
      // again.
      if (!abortController.signal.aborted) throw error;
    }
  });
}

async function listen(
  client: ServiceClient,
  flags: ListenFlags,
  settings: ListenSettings,
  signal: AbortSignal,
): Promise<void> {
  const { service, domain } = client.connection;
  const { user_id, email } = await client.carillon.user.get({ signal });
  const { target, timeoutMs, secret, selectedKinds } = settings;
  const kindsText = flags.kinds === undefined ? '' : [...selectedKinds].join(',');
  const listener = {
    service,
    domain,
    user_id,
    forward_to: target ?? '',
    kinds: kindsText,
    scope: flags.scope ?? 'own',
  };
  const notes = new Notices((line) => stderr.print(line));
  const feed = new FeedReader(client, {
    scope: flags.scope,
    kind: findSingleKind(selectedKinds),
    signal,
    clock: systemClock,
    onUnreachable: (error) => notes.reportUnreachable(service, error),
    onReachable: () => notes.reportReachable(service),
  });
  const cursorPath = flags.cursorFile || defaultCursorFile(listener);
  const startCursor = await findStartPosition(flags, feed, cursorPath, listener);
  const startText = startCursor === undefined ? 'from the oldest stored entry' : `after cursor ${startCursor.cursor}`;
  const targetText = target === undefined ? '' : `, forwarding to ${target}`;
  stderr.print(`Listening to ${service} as ${email} of ${domain}, ${startText}${targetText}. Press Ctrl-C to stop.`);
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
          onFailedAttempt: (entry, forwardResult) => notes.reportFailure(entry, target, forwardResult),
        });
  await followFeed({ feed, forwarder, notes, selectedKinds, file: cursorPath, listener, json }, startCursor);
}

function findSingleKind(selectedKinds: ReadonlySet<HookKind>): HookKind | undefined {
  const [firstKind, ...otherKinds] = selectedKinds;
  return otherKinds.length === 0 ? firstKind : undefined;
}

/**
 * Returns the start position, from the flags, the saved cursor or the end of the feed. Undefined means the oldest
 * stored entry.
 */
async function findStartPosition(
  flags: ListenFlags,
  feed: FeedReader,
  cursorPath: string,
  listener: ListenerIdentity,
): Promise<SavedCursor | undefined> {
  if (flags.fromOldest) return undefined;
  if (flags.after !== undefined) return { cursor: flags.after, occurred_at: '' };
  const savedCursor = flags.fromNow ? undefined : readCursor(cursorPath, listener);
  if (savedCursor !== undefined) return savedCursor;
  const endPosition = { cursor: await feed.fetchEndCursor(), occurred_at: '' };
  // Save the cursor now, so that nothing is missed if the command stops before the first occurrence.
  saveCursor(cursorPath, listener, endPosition);
  return endPosition;
}

type ListenContext = {
  readonly feed: FeedReader;
  readonly forwarder: Forwarder | undefined;
  readonly notes: Notices;
  readonly selectedKinds: ReadonlySet<string>;
  readonly file: string;
  readonly listener: ListenerIdentity;
  readonly json: boolean;
};

/** Handles occurrences in order, one at a time. Saves the cursor after an occurrence was forwarded and printed. */
async function followFeed(context: ListenContext, startCursor: SavedCursor | undefined): Promise<void> {
  const { feed, forwarder, notes, selectedKinds, file, listener, json } = context;
  let position = startCursor ?? { cursor: '', occurred_at: '' };
  const advanceCursor = (cursor: string, occurred_at = position.occurred_at) => {
    if (cursor !== position.cursor) saveCursor(file, listener, { cursor, occurred_at });
    position = { cursor, occurred_at };
  };
  try {
    for await (const { data, next } of feed.followPages(startCursor?.cursor)) {
      for (const entry of data.filter(({ kind }) => selectedKinds.has(kind))) {
        const [record, forwardResult] = await Promise.all([feed.fetchRecord(entry), forwarder?.forward(entry)]);
        if (forwardResult !== undefined) notes.explainOutcome(forwardResult);
        const occurrence = { entry, record, forwarded: forwardResult };
        if (json) stdout.printJson(toOccurrenceJson(occurrence));
        else printOccurrence(occurrence, stdout);
        advanceCursor(entry.cursor, entry.occurred_at);
      }
      advanceCursor(next);
    }
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'cursor_gone') throw error;
    throw new CliError(formatCursorGoneError(position, await feed.fetchOldestEntry()));
  }
}

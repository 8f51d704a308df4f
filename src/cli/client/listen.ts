import type { Command } from 'commander';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { systemClock } from '../../clock.ts';
import {
  type FeedPosition,
  getDefaultCursorPath,
  type ListenerIdentity,
  readFeedPosition,
  saveFeedPosition,
} from '../listen/cursor-file.ts';
import { FeedReader, formatCursorGoneError } from '../listen/feed.ts';
import { Forwarder } from '../listen/forward.ts';
import {
  ALL_EVENTS,
  addListenOptions,
  type ListenFlags,
  type ListenSettings,
  readListenSettings,
} from '../listen/options.ts';
import { NoticePrinter, printOccurrence, toOccurrenceJson } from '../listen/print.ts';
import { CliError, stderr, stdout } from '../output/screen.ts';
import { type ServiceClient, withService } from './connect.ts';
import { addConnectionOptions } from './connection-options.ts';

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
    for (const signalName of ['SIGINT', 'SIGTERM'] as const) process.once(signalName, () => abortController.abort());
    try {
      await withService(flags, (client) => listenToFeed(client, flags, settings, abortController.signal));
    } catch (error) {
      // After SIGINT or SIGTERM, the error only reports the abort. The next start forwards an unfinished occurrence
      // again.
      if (!abortController.signal.aborted) throw error;
    }
  });
}

async function listenToFeed(
  client: ServiceClient,
  flags: ListenFlags,
  settings: ListenSettings,
  signal: AbortSignal,
): Promise<void> {
  const { service, domain } = client.connection;
  const { user_id, email } = await client.carillon.user.get({ signal });
  const { target, timeoutMs, signingSecret, selectedKinds } = settings;
  const kindsText = (flags.kinds ?? flags.events) === undefined ? '' : (selectedKinds ?? [ALL_EVENTS]).join(',');
  const listener = {
    service,
    domain,
    user_id,
    forward_to: target ?? '',
    kinds: kindsText,
    scope: flags.scope ?? 'own',
    project_id: flags.project ?? '',
  };
  const noticePrinter = new NoticePrinter((line) => stderr.print(line));
  const feedReader = new FeedReader(client, {
    filters: { kind: selectedKinds, scope: flags.scope, project_id: flags.project },
    signal,
    clock: systemClock,
    onUnreachable: (error) => noticePrinter.reportUnreachable(service, error),
    onReachable: () => noticePrinter.reportReachable(service),
  });
  const cursorPath = flags.cursorFile || getDefaultCursorPath(listener);
  const startPosition = await findStartPosition(flags, feedReader, cursorPath, listener);
  const startText =
    startPosition === undefined ? 'from the oldest stored entry' : `after cursor ${startPosition.cursor}`;
  const targetText = target === undefined ? '' : `, forwarding to ${target}`;
  stderr.print(`Listening to ${service} as ${email} of ${domain}, ${startText}${targetText}. Press Ctrl-C to stop.`);
  const { onceEach = false, json = false } = flags;
  const forwarder =
    target === undefined
      ? undefined
      : new Forwarder(listener, {
          target,
          timeoutMs,
          signingSecret,
          acceptsAnyResponse: onceEach,
          signal,
          onFailedAttempt: (entry, forwardResult) => noticePrinter.reportFailure(entry, target, forwardResult),
        });
  await followFeed({ feedReader, forwarder, noticePrinter, cursorPath, listener, json }, startPosition);
}

/**
 * Returns the position in the feed after which to start: from the flags, else the saved cursor, else the end of the
 * feed. Undefined means to start with the oldest stored entry.
 */
async function findStartPosition(
  flags: ListenFlags,
  feedReader: FeedReader,
  cursorPath: string,
  listener: ListenerIdentity,
): Promise<FeedPosition | undefined> {
  if (flags.fromOldest) return undefined;
  if (flags.after !== undefined) return { cursor: flags.after, occurred_at: '' };
  const savedPosition = flags.fromNow ? undefined : readFeedPosition(cursorPath, listener);
  if (savedPosition !== undefined) return savedPosition;
  const endPosition = { cursor: await feedReader.fetchEndCursor(), occurred_at: '' };
  // Save the cursor now, so that nothing is missed if the command stops before the first occurrence.
  saveFeedPosition(cursorPath, listener, endPosition);
  return endPosition;
}

type ListenContext = {
  readonly feedReader: FeedReader;
  readonly forwarder: Forwarder | undefined;
  readonly noticePrinter: NoticePrinter;
  readonly cursorPath: string;
  readonly listener: ListenerIdentity;
  readonly json: boolean;
};

/**
 * Forwards and prints the occurrences (domain events) of the feed in order, one at a time. Saves the cursor after each
 * occurrence.
 */
async function followFeed(context: ListenContext, startPosition: FeedPosition | undefined): Promise<void> {
  const { feedReader, forwarder, noticePrinter, cursorPath, listener, json } = context;
  let feedPosition = startPosition ?? { cursor: '', occurred_at: '' };
  const advanceCursor = (cursor: string, occurred_at = feedPosition.occurred_at) => {
    if (cursor !== feedPosition.cursor) saveFeedPosition(cursorPath, listener, { cursor, occurred_at });
    feedPosition = { cursor, occurred_at };
  };
  try {
    for await (const { data, next } of feedReader.followPages(startPosition?.cursor)) {
      for (const entry of data) {
        const [record, forwardResult] = await Promise.all([feedReader.fetchRecord(entry), forwarder?.forward(entry)]);
        if (forwardResult !== undefined) noticePrinter.explainOutcome(forwardResult);
        const handledOccurrence = { entry, record, forwardResult };
        if (json) stdout.printJson(toOccurrenceJson(handledOccurrence));
        else printOccurrence(handledOccurrence, stdout);
        advanceCursor(entry.cursor, entry.occurred_at);
      }
      advanceCursor(next);
    }
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'cursor_gone') throw error;
    throw new CliError(formatCursorGoneError(feedPosition, await feedReader.fetchOldestEntry()));
  }
}

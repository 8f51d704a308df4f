import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { readJsonFile, resolveXdgFolder, writeJsonFile } from '../client/profiles.ts';
import { CliError } from '../output/screen.ts';

/** Identity of a listener. Each listener has its own cursor file. */
export type ListenerIdentity = {
  readonly service: string;
  readonly domain: string;
  readonly user_id: string;
  /** URL that occurrences are forwarded to; empty without forwarding. */
  readonly forward_to: string;
  /**
   * Value of `--kinds` or `--events`; empty for the default. The value is part of the identity, since the cursor also advances past
   * occurrences of other kinds, which a listener for those kinds would miss.
   */
  readonly kinds: string;
  /** Value of `--scope`: `own`, `project` or `account`. */
  readonly scope: string;
  /** Value of `--project`; empty for all projects. */
  readonly project_id: string;
};

/** Position of a listener in the feed. */
export type FeedPosition = {
  readonly cursor: string;
  /** Time of the last printed occurrence; empty before the first occurrence. */
  readonly occurred_at: string;
};

/** Returns the default path of a listener's cursor file. */
export function getDefaultCursorPath(listener: ListenerIdentity): string {
  const { service, domain, user_id, forward_to, kinds, scope, project_id } = listener;
  // Without a project, the path is the same as in earlier versions.
  const projectParts = project_id === '' ? [] : [project_id];
  const identityText = [service, domain, user_id, forward_to, kinds, scope, ...projectParts].join('\n');
  const identityHash = createHash('sha256').update(identityText).digest('hex');
  return join(resolveXdgFolder('state'), 'listen', `${identityHash.slice(0, 16)}.json`);
}

/** Fields that must match when a cursor file is read, since a cursor of another feed is invalid. */
const FEED_IDENTITY_FIELDS = ['service', 'domain', 'user_id'] as const;

/** Whether a text has the form of a cursor. */
export const isCursor = (text: string) => /^\d{1,16}$/.test(text);

/**
 * Reads the saved position in the feed; undefined if the file does not exist. Throws if the file belongs to another
 * listener.
 */
export function readFeedPosition(path: string, listener: ListenerIdentity): FeedPosition | undefined {
  const parseErrorText = `${path} contains no cursor of carillon listen: start with --from-now, --from-oldest or --after to replace it.`;
  const storedJson = readJsonFile(path, parseErrorText);
  if (storedJson === undefined) return undefined;
  const readStoredField = (name: string) => String(fieldOf(storedJson, name) ?? '');
  const cursor = readStoredField('cursor');
  if (!isCursor(cursor) || FEED_IDENTITY_FIELDS.some((name) => readStoredField(name) === ''))
    throw new CliError([parseErrorText]);
  const differingFields = FEED_IDENTITY_FIELDS.filter((name) => readStoredField(name) !== listener[name]);
  if (differingFields.length === 0) return { cursor, occurred_at: readStoredField('occurred_at') };
  const storedIdentityText = differingFields.map((name) => `${name} ${readStoredField(name)}`).join(', ');
  throw new CliError([`${path} belongs to another listener (${storedIdentityText}): give another file.`]);
}

/** Saves the position in the feed. When the function returns, the position is durable on disk. */
export function saveFeedPosition(path: string, listener: ListenerIdentity, position: FeedPosition): void {
  writeJsonFile(path, { ...listener, ...position });
}

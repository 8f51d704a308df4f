import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { keptFolder, readKept, writeKept } from '../client/state-file.ts';
import { CliError } from '../output/cli-error.ts';

/** Whose feed is listened to, what of it, and where it is forwarded; what makes a cursor this listener's and no other's. */
export type Listener = {
  readonly service: string;
  readonly domain: string;
  readonly user_id: string;
  /** Empty where it is only shown. */
  readonly forward_to: string;
  /** As they were named; empty where all are wanted. What is passed over by one listener is news to another. */
  readonly kinds: string;
  readonly scope: string;
};

/** How far a listener has come. */
export type Mark = {
  readonly cursor: string;
  /** When the last occurrence that was dealt with happened; empty before the first. */
  readonly occurred_at: string;
};

/** Where a listener's cursor is kept, unless a file is named. */
export function cursorFileOf(listener: Listener): string {
  const { service, domain, user_id, forward_to, kinds, scope } = listener;
  const facts = [service, domain, user_id, forward_to, kinds, scope].join('\n');
  const name = createHash('sha256').update(facts).digest('hex');
  return join(keptFolder('state'), 'listen', `${name.slice(0, 16)}.json`);
}

/** Whose cursors they are: another's feed has others. What of it, and where to, is for whoever names the file. */
const whose = ['service', 'domain', 'user_id'] as const;

/** Whether a text can be a cursor of a feed. */
export const isCursor = (text: string) => /^\d{1,16}$/.test(text);

/** The kept mark; undefined where nothing was listened to before. Another listener's file is refused. */
export function readMark(path: string, listener: Listener): Mark | undefined {
  const none = `${path} holds no cursor of carillon listen: --from-now, --from-oldest or --after writes it anew.`;
  const kept = readKept(path, none);
  if (kept === undefined) return undefined;
  const textOf = (name: string) => String(fieldOf(kept, name) ?? '');
  const cursor = textOf('cursor');
  if (!isCursor(cursor) || whose.some((name) => textOf(name) === '')) throw new CliError([none]);
  const others = whose.filter((name) => textOf(name) !== listener[name]);
  if (others.length === 0) return { cursor, occurred_at: textOf('occurred_at') };
  const theirs = others.map((name) => `${name} ${textOf(name)}`).join(', ');
  throw new CliError([`${path} is the cursor of another listener (${theirs}): name another file.`]);
}

/** On disk when it returns. */
export function saveMark(path: string, listener: Listener, mark: Mark): void {
  writeKept(path, { ...listener, ...mark });
}

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { keptFolder, readKept, writeKept } from '../kept-file.ts';
import { Refusal } from '../refusal.ts';

/** Whose feed is listened to, and where it is forwarded; what makes a cursor this listener's and no other's. */
export type Listener = {
  readonly service: string;
  readonly domain: string;
  readonly user_id: string;
  /** Empty where it is only shown. */
  readonly forward_to: string;
};

/** How far a listener has come. */
export type Mark = {
  readonly cursor: string;
  /** When the last occurrence that was dealt with happened; empty before the first. */
  readonly occurred_at: string;
};

/** Where a listener's cursor is kept, unless a file is named. */
export function cursorFileOf(listener: Listener): string {
  const { service, domain, user_id, forward_to } = listener;
  const name = createHash('sha256').update([service, domain, user_id, forward_to].join('\n')).digest('hex');
  return join(keptFolder('state'), 'listen', `${name.slice(0, 16)}.json`);
}

/** The kept mark; undefined where nothing was listened to before. Another listener's file is refused. */
export function readMark(path: string, listener: Listener): Mark | undefined {
  const kept = readKept(path);
  if (kept === undefined) return undefined;
  const textOf = (name: string) => (typeof kept === 'object' && kept !== null ? String(Reflect.get(kept, name)) : '');
  const cursor = textOf('cursor');
  if (!/^\d+$/.test(cursor)) throw new Refusal([`${path} holds no cursor of carillon listen.`]);
  // Its feed has other cursors; where it is forwarded is for whoever names the file.
  const others = (['service', 'domain', 'user_id'] as const).filter((name) => textOf(name) !== listener[name]);
  if (others.length === 0) return { cursor, occurred_at: textOf('occurred_at') };
  const theirs = others.map((name) => `${name} ${textOf(name)}`).join(', ');
  throw new Refusal([`${path} is the cursor of another listener (${theirs}): name another file.`]);
}

/** On disk when it returns. */
export function saveMark(path: string, listener: Listener, mark: Mark): void {
  writeKept(path, { ...listener, ...mark });
}

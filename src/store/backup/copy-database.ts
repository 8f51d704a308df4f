import { existsSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makeFile, toDisk } from '../sqlite/file-lock.ts';
import { StoreError } from '../store.ts';

/** Two may make the same copy at the same moment. */
let parts = 0;

/** Left free beside a copy, for what goes on meanwhile. */
const SPARE_BYTES = 16 * 1_024 * 1_024;

/** What a copy is made of, and how much room there is for it. */
export type Copying = {
  readonly database: DatabaseSync;
  readonly to: string;
  /** Judges the copy before it gets its name; throws where it must not have it. */
  readonly verify: (file: string) => Promise<void> | void;
  /** Room on the disk of a folder, in bytes; a test says how much. */
  readonly freeBytes?: (folder: string) => number;
};

/**
 * Copies a database as it is at one moment into a file of its own, which is whole by itself. Reads alone: others go on
 * writing meanwhile. The copy is its owner's alone, has its name only once it is verified and on the disk, and never
 * takes the place of anything. Answers its bytes.
 */
export async function copyDatabase({ database, to, verify, freeBytes = freeOn }: Copying): Promise<number> {
  parts += 1;
  const part = `${to}.part-${process.pid}-${parts}`;
  mustBeFree(to);
  makeFile(part);
  try {
    mustHaveRoom(to, bytesOf(database), freeBytes(dirname(to)));
    database.prepare('vacuum into ?').run(part);
    await verify(part);
    toDisk(part, 'r+');
    mustBeFree(to);
    renameSync(part, to);
    toDisk(dirname(to), 'r');
    return statSync(to).size;
  } finally {
    rmSync(part, { force: true });
  }
}

/** Room on the disk of a folder, for whoever is no administrator. */
export function freeOn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** What a database takes, of which a copy takes no more. */
export function bytesOf(database: DatabaseSync): number {
  const [pages] = Object.values(database.prepare('pragma page_count').get() ?? {});
  const [size] = Object.values(database.prepare('pragma page_size').get() ?? {});
  return Number(pages) * Number(size);
}

/** Everything that SQLite finds wrong with a file; empty for nothing. */
export function whatIsWrong(database: DatabaseSync, how: 'integrity_check' | 'quick_check'): string[] {
  const said = database.prepare(`pragma ${how}(20)`).all().flatMap(Object.values).map(String);
  return said.filter((line) => line !== 'ok');
}

function mustBeFree(to: string): void {
  if (existsSync(to)) throw new StoreError(`${to} is there already, and nothing is written over.`);
}

function mustHaveRoom(to: string, needed: number, free: number): void {
  if (free >= needed + SPARE_BYTES) return;
  throw new StoreError(`${to} may need ${mebibytes(needed)}, and ${mebibytes(free)} are free there.`);
}

/** Bytes for the eye. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1_024 / 1_024).toFixed(1)} MiB`;
}

/** A moment as it stands in the names of files: 20270131T235959, UTC. */
export function stampOf(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '');
}

import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError } from '../output/cli-error.ts';

/** Where a command keeps what it must find again: settings, or how far it came. As the XDG base directories say. */
export function keptFolder(what: 'config' | 'state'): string {
  const [variable, otherwise] = what === 'config' ? ['XDG_CONFIG_HOME', '.config'] : ['XDG_STATE_HOME', '.local/state'];
  const folder = process.env[variable];
  return join(folder?.startsWith('/') ? folder : join(homedir(), otherwise), 'carillon');
}

/** What stands in a kept file, parsed; undefined where there is none. `otherwise`: what to say when it is not JSON, of which nothing is quoted, since it may be a key. */
export function readKept(path: string, otherwise: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof SyntaxError) throw new CliError([otherwise]);
    throw new CliError([`${path} cannot be read: ${error instanceof Error ? error.message : error}.`]);
  }
}

/** Writes a file for its owner's eyes alone: whole and on disk when this returns, or, through any crash, as it was. */
export function writeKept(path: string, content: unknown): void {
  const beside = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(beside, 'w', 0o600);
    try {
      writeSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(beside, path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(beside, { force: true });
    throw new CliError([`${path} cannot be written: ${error instanceof Error ? error.message : error}.`]);
  }
}

/** The new name is on disk, too. Windows knows no such thing. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

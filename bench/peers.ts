import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../test/harness/cleanup.ts';
import { type Program, startProgram } from './programs.ts';

/** Those of others that do a part of the same: each in a folder of its own, with packages of its own. */
const peers = {
  bullmq: 'npm',
  'graphile-worker': 'npm',
  'parse-server': 'npm',
  'pg-boss': 'npm',
  plainjob: 'npm',
  radicale: 'pip',
  'soul-cli': 'npm',
} as const;

export type Peer = keyof typeof peers;

const folderOf = (peer: Peer) => fileURLToPath(new URL(`./peers/${peer}/`, import.meta.url));

/** How it is named in a table: with its version. */
export function nameOf(peer: Peer): string {
  if (peers[peer] === 'pip') {
    return readFileSync(`${folderOf(peer)}requirements.txt`, 'utf8')
      .trim()
      .replace('==', ' ');
  }
  const { dependencies } = JSON.parse(readFileSync(`${folderOf(peer)}package.json`, 'utf8'));
  return `${peer} ${dependencies[peer]}`;
}

/** Installs it where it is not yet: never among our own packages, and nothing of it runs meanwhile. */
function install(peer: Peer): void {
  const cwd = folderOf(peer);
  if (existsSync(`${cwd}node_modules`)) return;
  const run = (command: string, ...words: string[]) => execFileSync(command, words, { cwd, stdio: 'ignore' });
  try {
    if (peers[peer] === 'npm') run('npm', 'ci', '--ignore-scripts');
    else {
      // Where nothing of ours looks: packages of Python, too.
      run('python3', '-m', 'venv', 'node_modules');
      run('node_modules/bin/pip', 'install', '--only-binary', ':all:', '--requirement', 'requirements.txt');
    }
  } catch (cause) {
    // Half of it would be taken for all of it.
    rmSync(`${cwd}node_modules`, { recursive: true, force: true });
    throw new Error(`${nameOf(peer)} cannot be installed in ${cwd}`, { cause });
  }
}

/** Starts a server of others; `address` is where it keeps things. */
export function startServing(context: Cleanup, peer: Peer, address: string): Promise<Program> {
  install(peer);
  return startProgram(context, './peers/serving.js', [peer, address]);
}

/**
 * Starts a queue of others that tells a receiver.
 *
 * @param address the database; several of them may share it
 * @param mostBehind how much it adds at most beyond what it has told
 */
export function startTelling(
  context: Cleanup,
  peer: Peer,
  { address, target, mostBehind }: { readonly address: string; readonly target: string; readonly mostBehind: number },
): Promise<Program> {
  install(peer);
  return startProgram(context, './peers/telling.js', [peer, address, target, String(mostBehind)]);
}

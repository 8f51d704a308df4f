import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../test/kit/cleanup.ts';
import { type Program, startProgram } from './programs.ts';

/** Other systems that do a part of the same work. Each has a folder with packages of its own. */
export type Peer = 'bullmq' | 'graphile-worker' | 'parse-server' | 'pg-boss';

const folderOf = (peer: Peer) => fileURLToPath(new URL(`./peers/${peer}/`, import.meta.url));

/** Returns the name of a peer with its version. */
export function nameOf(peer: Peer): string {
  const { dependencies } = JSON.parse(readFileSync(`${folderOf(peer)}package.json`, 'utf8'));
  return `${peer} ${dependencies[peer]}`;
}

/** Installs a peer if it is not installed: in its own folder, and without install scripts. */
function install(peer: Peer): void {
  const cwd = folderOf(peer);
  if (existsSync(`${cwd}node_modules`)) return;
  try {
    execFileSync('npm', ['ci', '--ignore-scripts'], { cwd, stdio: 'ignore' });
  } catch (cause) {
    // An incomplete folder is removed, because the next run would take it for a complete one.
    rmSync(`${cwd}node_modules`, { recursive: true, force: true });
    throw new Error(`${nameOf(peer)} cannot be installed in ${cwd}`, { cause });
  }
}

/** Starts a peer that is a server. `address` is the database of the peer. */
export function startServing(context: Cleanup, peer: Peer, address: string): Promise<Program> {
  install(peer);
  return startProgram(context, './peers/serving.js', [peer, address]);
}

/**
 * Starts a job queue that sends requests to a receiver.
 *
 * @param address the database; several processes may share it
 * @param mostBehind the maximum backlog of jobs
 */
export function startTelling(
  context: Cleanup,
  peer: Peer,
  { address, target, mostBehind }: { readonly address: string; readonly target: string; readonly mostBehind: number },
): Promise<Program> {
  install(peer);
  return startProgram(context, './peers/telling.js', [peer, address, target, String(mostBehind)]);
}

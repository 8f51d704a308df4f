import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Behaviour } from '../../../packages/chaos-receiver/src/behaviour.ts';
import { behaviours } from '../../../packages/chaos-receiver/src/behaviours.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { temporaryFolder } from '../../kit/service/service.ts';

const main = fileURLToPath(new URL('../../../packages/chaos-receiver/src/main.ts', import.meta.url));

/** The receiver's report of one connection, after its end. */
export type Visit = {
  readonly behaviour: string | null;
  readonly request: { readonly method: string; readonly path: string } | null;
  readonly ms: number;
  readonly bytesWritten: number;
};

export type Hostile = Behaviour & {
  /** Base URL, without a query. */
  readonly url: string;
  readonly port: number;
};

/** Starts the chaos receiver with `--each` in its own process, so that its memory is not counted. */
export async function startHostile(
  context: Cleanup,
  { deadlineMs, seed, onVisit }: { deadlineMs: number; seed: number; onVisit: (visit: Visit) => void },
): Promise<{ readonly all: readonly Hostile[]; readonly certificate: string }> {
  const caFile = join(temporaryFolder(context), 'ca.pem');
  const flags = ['--each', '--port', '0', '--json', '--pace', '20ms', '--ca-file', caFile];
  const own = ['--deadline', `${deadlineMs}ms`, '--seed', String(seed)];
  const child = spawn(process.execPath, [main, ...flags, ...own], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  atEnd(context, async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const urls = new Map<string, string>();
  const ready = Promise.withResolvers<void>();
  createInterface(child.stdout).on('line', (line) => {
    const said = JSON.parse(line);
    if (said.listening === undefined) onVisit(said);
    else urls.set(said.behaviour, said.listening);
    if (urls.size === behaviours.length) ready.resolve();
  });
  await Promise.race([ready.promise, exited.then(() => Promise.reject(new Error('the receiver ended')))]);
  const all = behaviours.map((one) => {
    const url = urls.get(one.slug) ?? '';
    return { ...one, url, port: Number(new URL(url).port) };
  });
  return { all, certificate: readFileSync(caFile, 'utf8') };
}

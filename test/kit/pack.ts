import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inherited } from './environment.ts';
import type { Json } from './service.ts';

/** An npm tarball and the paths in it. */
export type Packed = { readonly tarball: string; readonly paths: readonly string[] };

/** Runs `npm pack` in the folder of a package, which builds it first. */
export async function pack(cwd: string, destination: string): Promise<Packed> {
  const args = ['pack', '--json', '--silent', '--pack-destination', destination];
  const { stdout } = await promisify(execFile)('npm', args, { cwd, env: inherited, maxBuffer: 2 ** 24 });
  // The build may print lines before the JSON.
  const [{ filename, files }]: Json = JSON.parse(stdout.slice(stdout.indexOf('[\n')));
  return { tarball: join(destination, filename), paths: files.map(({ path }: Json) => path) };
}

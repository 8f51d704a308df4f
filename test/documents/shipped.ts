import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../laws/source.ts';

/** A package as a lockfile has it. */
export type Locked = {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly hasInstallScript?: true;
  readonly dependencies?: Readonly<Record<string, string>>;
};

/** Where the lockfiles are: the service, its tests, and every package for another platform. */
export const lockFolders = ['.', 'test', 'integrations/n8n', 'integrations/zapier'] as const;

/** Every package of a lockfile by its place: `node_modules/pg`. Workspaces and the links to them are left out. */
export function lockedIn(folder: string): ReadonlyMap<string, Locked> {
  const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'));
  const all = Object.entries(packages as Record<string, Locked & { readonly link?: true }>).filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  );
  return new Map(all);
}

export const nameAt = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** What a package that somebody installs, or a browser, gets to run. */
export type Shipped = Locked & {
  readonly name: string;
  /** `service`: whatever serves; `runtime`: Node itself, where it comes out of npm; `console`: built into its pages. */
  readonly part: 'service' | 'runtime' | 'console';
};

/** Everything that is shipped, by name. */
export function shipped(): readonly Shipped[] {
  const locked = lockedIn('.');
  const inConsole = reachedFrom(importedByConsole(), locked);
  const found = [...locked].flatMap(([path, one]): Shipped[] => {
    const name = nameAt(path);
    if (one.dev !== true) return [{ ...one, name, part: one.optional === true ? 'runtime' : 'service' }];
    return inConsole.has(path) ? [{ ...one, name, part: 'console' }] : [];
  });
  // One that is installed in two places is one.
  const once = new Map(found.map((one) => [`${one.name}@${one.version}`, one]));
  return [...once.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The packages that the pages of the console import. */
function importedByConsole(): string[] {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const sources = globSync('console/src/**/*.{ts,tsx}', { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/(?:from|import) '([^'.][^']*)'/g)].map(([, from]) => from),
  );
  return Object.keys(devDependencies).filter((name) => imported.some((from) => `${from}/`.startsWith(`${name}/`)));
}

/** Where these packages are installed, and all that they need. */
function reachedFrom(names: readonly string[], locked: ReadonlyMap<string, Locked>): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = names.map((name) => `node_modules/${name}`);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const needed of Object.keys(locked.get(path)?.dependencies ?? {})) {
      const beside = `${path}/node_modules/${needed}`;
      waiting.push(locked.has(beside) ? beside : `node_modules/${needed}`);
    }
  }
  return reached;
}

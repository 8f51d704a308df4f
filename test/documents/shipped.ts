import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../laws/source.ts';

/** A package in a lockfile. */
export type LockedPackage = {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly hasInstallScript?: true;
  readonly dependencies?: Readonly<Record<string, string>>;
};

/** Folders with lockfiles: service, tests and integrations. */
export const lockFolders = ['.', 'test', 'integrations/n8n', 'integrations/zapier'] as const;

/** Reads the packages of a lockfile by path, such as `node_modules/pg`. Workspaces and links are excluded. */
export function lockedPackagesIn(folder: string): ReadonlyMap<string, LockedPackage> {
  const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'));
  const all = Object.entries(packages as Record<string, LockedPackage & { readonly link?: true }>).filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  );
  return new Map(all);
}

export const packageNameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** A package that runs in an installation or in the browser. */
export type ShippedPackage = LockedPackage & {
  readonly name: string;
  /** `service`: dependency; `runtime`: Node from npm; `console`: bundled into the console. */
  readonly part: 'service' | 'runtime' | 'console';
};

/** Returns all shipped packages, sorted by name. */
export function shippedPackages(): readonly ShippedPackage[] {
  const lockedPackages = lockedPackagesIn('.');
  const inConsole = transitiveDependencies(consoleImports(), lockedPackages);
  const found = [...lockedPackages].flatMap(([path, one]): ShippedPackage[] => {
    const name = packageNameOf(path);
    if (one.dev !== true) return [{ ...one, name, part: one.optional === true ? 'runtime' : 'service' }];
    return inConsole.has(path) ? [{ ...one, name, part: 'console' }] : [];
  });
  // Deduplicate packages that are installed twice.
  const once = new Map(found.map((one) => [`${one.name}@${one.version}`, one]));
  return [...once.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Returns the names of the packages that the console imports. */
function consoleImports(): string[] {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const sources = globSync('console/src/**/*.{ts,tsx}', { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/(?:from|import) '([^'.][^']*)'/g)].map(([, from]) => from),
  );
  return Object.keys(devDependencies).filter((name) => imported.some((from) => `${from}/`.startsWith(`${name}/`)));
}

/** Returns the lockfile paths of the packages with these names, and of their transitive dependencies. */
function transitiveDependencies(
  names: readonly string[],
  locked: ReadonlyMap<string, LockedPackage>,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const queue = names.map((name) => `node_modules/${name}`);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const dependency of Object.keys(locked.get(path)?.dependencies ?? {})) {
      const nested = `${path}/node_modules/${dependency}`;
      queue.push(locked.has(nested) ? nested : `node_modules/${dependency}`);
    }
  }
  return reached;
}

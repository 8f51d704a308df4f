import { code, derivedFrom, document, table } from './markdown.ts';
import { type Shipped, shipped } from './shipped.ts';

const descriptions: Readonly<Record<Shipped['part'], string>> = {
  service: 'service',
  runtime: 'Node itself, for one platform; left out of container images',
  console: 'built into the pages of the console',
};

/** docs/reference/licences.md: shipped packages and their licenses. */
export function licencesDocument(): string {
  const all = shipped();
  const rows = all.map(({ name, version, license, part }) => [
    code(name),
    version,
    license ?? 'none said',
    descriptions[part],
  ]);
  return document(
    derivedFrom('package-lock.json'),
    '# Packages and their licences',
    'All packages that run in the service or in the console. Packages for tests and builds are not shipped. None of these runs an install script. `npm run sbom` writes the same list as CycloneDX.',
    table(['Package', 'Version', 'Licence', 'Part'], rows),
  );
}

import { readFileSync } from 'node:fs';
import { conformanceDocument, decisionsDocument } from './conformance.ts';
import { type DerivedDocument, derivedNotice, inlineCode, joinParts, markdownTable } from './markdown.ts';
import { performanceDocuments } from './performance.ts';
import { auditDocument, behavioursDocument, kindsDocument, optionsDocument, problemsDocument } from './reference.ts';
import { reliabilityDocument } from './reliability.ts';
import { documentedRoutes, fieldsDocument, routesDocument } from './routes.ts';
import { type ShippedPackage, shippedPackages } from './shipped.ts';

/** Returns all derived documents except the SDK files. The result is deterministic. */
export function derivedDocuments(): readonly DerivedDocument[] {
  const routes = documentedRoutes();
  return [
    { path: 'docs/conformance.md', text: conformanceDocument() },
    { path: 'docs/decisions/README.md', text: decisionsDocument() },
    { path: 'docs/reference/audit.md', text: auditDocument() },
    { path: 'packages/chaos-receiver/BEHAVIOURS.md', text: behavioursDocument() },
    { path: 'docs/reference/fields.md', text: fieldsDocument(routes) },
    { path: 'docs/reference/kinds.md', text: kindsDocument(routes) },
    { path: 'docs/reference/licences.md', text: licencesDocument() },
    { path: 'docs/reference/options.md', text: optionsDocument() },
    { path: 'docs/reference/problems.md', text: problemsDocument() },
    { path: 'docs/reference/routes.md', text: routesDocument(routes) },
    ...performanceDocuments(),
    { path: 'docs/reliability.md', text: reliabilityDocument() },
    { path: 'llms.txt', text: llmsDocument() },
  ];
}

const readText = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Derives llms.txt: the index for language models, from docs/README.md. */
function llmsDocument(): string {
  const { description } = JSON.parse(readText('package.json'));
  const guide = readText('docs/README.md');
  const parts = guide
    .slice(guide.indexOf('\n## '))
    .replace(/\]\((?!https?:)([^)]+)\)/g, (_, path) => `](${toRootRelative(path)})`);
  return `# Carillon\n\n> ${description}\n${parts}`;
}

/** Converts a path relative to docs/ to a path relative to the repository. */
const toRootRelative = (path: string): string => (path.startsWith('../') ? path.slice(3) : `docs/${path}`);

const partDescriptions: Readonly<Record<ShippedPackage['part'], string>> = {
  service: 'service',
  runtime: 'Node itself, for one platform; left out of container images',
  console: 'built into the pages of the console',
};

/** Derives docs/reference/licences.md: shipped packages and their licenses. */
function licencesDocument(): string {
  const all = shippedPackages();
  const rows = all.map(({ name, version, license, part }) => [
    inlineCode(name),
    version,
    license ?? 'none said',
    partDescriptions[part],
  ]);
  return joinParts(
    derivedNotice('package-lock.json'),
    '# Packages and their licences',
    'All packages that run in the service or in the console. Packages for tests and builds are not shipped. None of these runs an install script. `npm run sbom` writes the same list as CycloneDX.',
    markdownTable(['Package', 'Version', 'Licence', 'Part'], rows),
  );
}

import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { shippedPackages } from './documents/shipped.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

type BillOfMaterials = {
  serialNumber?: string;
  metadata: { timestamp?: string; component: { name: string } };
  components: { 'bom-ref': string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/**
 * Returns the software bill of materials (CycloneDX) of the shipped packages, from `npm sbom`. It is deterministic:
 * serial number and timestamp are removed, and the component has the name of the package instead of the folder.
 */
export function billOfMaterials(): string {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const options: ExecFileSyncOptionsWithStringEncoding = {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  };
  const { serialNumber: _number, ...bom }: BillOfMaterials = JSON.parse(execFileSync('npm', args, options));
  const { timestamp: _moment, ...metadata } = bom.metadata;
  const { name, version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const refs = new Set([`${name}@${version}`, ...shippedPackages().map((one) => `${one.name}@${one.version}`)]);
  const text = JSON.stringify(
    {
      ...bom,
      metadata: { ...metadata, component: { ...metadata.component, name } },
      components: bom.components.filter((one) => refs.has(one['bom-ref'])),
      dependencies: bom.dependencies
        .filter(({ ref }) => refs.has(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
    },
    undefined,
    2,
  );
  return `${text}\n`;
}

if (import.meta.main) {
  mkdirSync(`${root}build`, { recursive: true });
  writeFileSync(`${root}build/carillon.cdx.json`, billOfMaterials());
  process.stdout.write('written: build/carillon.cdx.json\n');
}

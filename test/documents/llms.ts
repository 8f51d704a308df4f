import { readFileSync } from 'node:fs';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** llms.txt: the index for language models, derived from docs/README.md. */
export function llmsDocument(): string {
  const { description } = JSON.parse(read('package.json'));
  const guide = read('docs/README.md');
  const parts = guide
    .slice(guide.indexOf('\n## '))
    .replace(/\]\((?!https?:)([^)]+)\)/g, (_, path) => `](${fromRoot(path)})`);
  return `# Carillon\n\n> ${description}\n${parts}`;
}

/** Converts a path relative to docs/ to one relative to the root. */
const fromRoot = (path: string): string => (path.startsWith('../') ? path.slice(3) : `docs/${path}`);

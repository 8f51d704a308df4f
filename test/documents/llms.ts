import { readFileSync } from 'node:fs';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** `llms.txt`: where a language model finds what, from the page that says it to people. */
export function llmsDocument(): string {
  const { description } = JSON.parse(read('package.json'));
  const guide = read('docs/README.md');
  const parts = guide
    .slice(guide.indexOf('\n## '))
    .replace(/\]\((?!https?:)([^)]+)\)/g, (_, path) => `](${placed(path)})`);
  return `# Carillon\n\n> ${description}\n${parts}`;
}

/** As seen from the root of the repository. */
const placed = (path: string): string => (path.startsWith('../') ? path.slice(3) : `docs/${path}`);

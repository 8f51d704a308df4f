import { fileURLToPath } from 'node:url';

const toolPath = (name: string) => fileURLToPath(new URL(`./node_modules/.bin/${name}`, import.meta.url));

/** Paths of the tools in test/package.json. */
export const tscPath = toolPath('tsc');
export const biomePath = toolPath('biome');

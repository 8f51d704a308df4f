import { fileURLToPath } from 'node:url';

const bin = (name: string) => fileURLToPath(new URL(`./node_modules/.bin/${name}`, import.meta.url));

/** Paths of the tools in test/package.json. */
export const tsc = bin('tsc');
export const biome = bin('biome');

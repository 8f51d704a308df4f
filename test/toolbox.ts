import { fileURLToPath } from 'node:url';

const bin = (name: string) => fileURLToPath(new URL(`./node_modules/.bin/${name}`, import.meta.url));

/** The tools of test/package.json, by path. */
export const tsc = bin('tsc');
export const biome = bin('biome');

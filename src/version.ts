import { readFileSync } from 'node:fs';

/** The version of this package, said once in package.json. */
export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Environment variable with the path of the bundled service by the folder of its source, as JSON. */
export const BUNDLE_VARIABLE = 'TEST_SERVICE_BUNDLE';

const bundles: Readonly<Record<string, string>> = JSON.parse(process.env[BUNDLE_VARIABLE] ?? '{}');

/**
 * The service that child processes run: the bundle that the global setup has built, or the source itself, for example in
 * a copy of the source with a mutation.
 */
export const entryPoint = bundles[root] ?? join(root, 'src/main.ts');

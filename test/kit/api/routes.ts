import type { Carillon } from '../../../packages/sdk/src/index.ts';
import { systemClock } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import {
  type ConsoleDeps,
  createApiRoutes,
  createConsoleRoutes,
  createPublicRoutes,
} from '../../../src/resources/index.ts';
import { LoginThrottle } from '../../../src/resources/passphrases/login-throttle.ts';
import { PassphraseHasher, SCRYPT_COST, systemRandom } from '../../../src/secrets.ts';
import type { ApiUser } from '../service/service.ts';

/** Stub dependencies, to build the route tables without a service. */
const deps: ConsoleDeps = {
  guard: { checkTarget: async () => ({ failure: 'no_such_name' }) },
  random: systemRandom,
  log: createLog('silent'),
  baseUrl: () => '',
  passphraseHasher: new PassphraseHasher(systemRandom, SCRYPT_COST),
  loginThrottle: new LoginThrottle(systemClock),
  onSignInRefused: () => undefined,
  isTargetTaken: async () => false,
};

/** The routes that both the API group and the console group have. */
export const apiRoutes = createApiRoutes(deps);
/** The routes that only the console group has. */
export const consoleOnlyRoutes = createConsoleRoutes(deps);

/** The public routes, which need no authentication. */
export const publicRoutes = createPublicRoutes(deps);

/** Sends the request of a curl command line, with the credentials of a person in place of the variables. */
export async function runCurl(curlCommand: string, { domain, key }: ApiUser): Promise<Response> {
  const line = curlCommand
    .replaceAll('\\\n', '')
    .replaceAll('"key: $CARILLON_KEY"', `'key: ${key}'`)
    .replaceAll('"domain: $CARILLON_DOMAIN"', `'domain: ${domain}'`);
  const words = [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted?.replaceAll(`'\\''`, "'") ?? bare ?? '',
  );
  const valuesOfFlag = (flag: string) => words.filter((_, index) => words[index - 1] === flag);
  const [address = ''] = words.filter((word) => word.startsWith('http'));
  const headers = Object.fromEntries(valuesOfFlag('-H').map((header) => header.split(': ', 2)));
  const [method = 'GET'] = valuesOfFlag('-X');
  const [body] = valuesOfFlag('-d');
  // Turn long polling off (`wait=0`): the tests only check that the parameter is accepted.
  const init = { method, headers, ...(body !== undefined && { body }) };
  return fetch(address.replace('wait=30', 'wait=0'), init);
}

/** Runs a line of SDK code, `await carillon.…;`. */
export async function runSdkLine(sdkLine: string, carillon: Carillon): Promise<unknown> {
  const call = /^await (carillon\.[\s\S]+);$/m.exec(sdkLine)?.[1]?.replace('wait: 30', 'wait: 0') ?? '';
  const source = `export default (carillon) => ${call};`;
  const { default: run }: { default: (carillon: Carillon) => Promise<unknown> } = await import(
    `data:text/javascript,${encodeURIComponent(source)}`
  );
  return run(carillon);
}

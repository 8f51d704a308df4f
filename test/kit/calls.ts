import type { Carillon } from '../../packages/sdk/src/index.ts';
import type { Person } from './service.ts';

/** Sends the request of a curl command line, with the credentials of a person in place of the variables. */
export async function asCurl(curl: string, { domain, key }: Person): Promise<Response> {
  const line = curl
    .replaceAll('\\\n', '')
    .replaceAll('"key: $CARILLON_KEY"', `'key: ${key}'`)
    .replaceAll('"domain: $CARILLON_DOMAIN"', `'domain: ${domain}'`);
  const words = [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted?.replaceAll(`'\\''`, "'") ?? bare ?? '',
  );
  const after = (flag: string) => words.filter((_, index) => words[index - 1] === flag);
  const [address = ''] = words.filter((word) => word.startsWith('http'));
  const headers = Object.fromEntries(after('-H').map((header) => header.split(': ', 2)));
  const [method = 'GET'] = after('-X');
  const [body] = after('-d');
  // Long polling is turned off: the tests only check that the parameter is accepted.
  const init = { method, headers, ...(body !== undefined && { body }) };
  return fetch(address.replace('wait=30', 'wait=0'), init);
}

/** Runs a line of SDK code, `await carillon.…;`. */
export async function asSdk(sdk: string, carillon: Carillon): Promise<unknown> {
  const call = /^await (carillon\.[\s\S]+);$/m.exec(sdk)?.[1]?.replace('wait: 30', 'wait: 0') ?? '';
  const source = `export default (carillon) => ${call};`;
  const { default: run }: { default: (carillon: Carillon) => Promise<unknown> } = await import(
    `data:text/javascript,${encodeURIComponent(source)}`
  );
  return run(carillon);
}

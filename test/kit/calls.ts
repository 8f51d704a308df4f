import type { Carillon } from '../../packages/sdk/src/index.ts';
import type { Person } from './service.ts';

/** Does what a line of curl would, with a key in the place that it leaves open. */
export async function asCurl(curl: string, { domain, key }: Person): Promise<Response> {
  const line = curl
    .replaceAll('\\\n', '')
    .replaceAll('"key: $CARILLON_KEY"', `'key: ${key}'`)
    .replaceAll('"domain: $CARILLON_DOMAIN"', `'domain: ${domain}'`);
  const words = [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(
    ([, held, bare]) => held?.replaceAll(`'\\''`, "'") ?? bare ?? '',
  );
  const after = (flag: string) => words.filter((_, index) => words[index - 1] === flag);
  const [address = ''] = words.filter((word) => word.startsWith('http'));
  const headers = Object.fromEntries(after('-H').map((header) => header.split(': ', 2)));
  const [method = 'GET'] = after('-X');
  const [body] = after('-d');
  // What waits for something new is only to be taken.
  const init = { method, headers, ...(body !== undefined && { body }) };
  return fetch(address.replace('wait=30', 'wait=0'), init);
}

/** Does what follows `carillon.` in the line of the SDK. */
export async function asSdk(sdk: string, carillon: Carillon): Promise<unknown> {
  const call = /^await (carillon\.[\s\S]+);$/m.exec(sdk)?.[1]?.replace('wait: 30', 'wait: 0') ?? '';
  const source = `export default (carillon) => ${call};`;
  const { default: run }: { default: (carillon: Carillon) => Promise<unknown> } = await import(
    `data:text/javascript,${encodeURIComponent(source)}`
  );
  return run(carillon);
}

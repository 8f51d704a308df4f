import { apiKey, Carillon } from '../../packages/sdk/src/index.ts';
import type { Cleanup } from './cleanup.ts';
import { atEnd } from './cleanup.ts';
import { type Started, startProcess } from './start-service.ts';

/** A service in a child process, with a client of the account that its first start created. */
export type ServiceProcess = Started & {
  /** The value for `--database`. */
  readonly database: string;
  readonly carillon: Carillon;
  readonly headers: Readonly<Record<string, string>>;
};

/** Starts `carillon serve` on a free port and waits until it is ready. It is killed when the test ends. */
export async function startServiceProcess(
  context: Cleanup,
  database: string,
  options: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const started = await startProcess({
    CARILLON_DATABASE: database,
    CARILLON_PORT: '0',
    CARILLON_WRONG_KEYS: 'off',
    ...options,
  });
  atEnd(context, () => started.process.kill('SIGKILL'));
  const { baseUrl, domain = '', key = '' } = started;
  const ready = await fetch(`${baseUrl}/readyz`);
  if (ready.status !== 200) throw new Error(`not ready: ${ready.status} ${await ready.text()}`);
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 });
  return { ...started, database, carillon, headers: { domain, key } };
}

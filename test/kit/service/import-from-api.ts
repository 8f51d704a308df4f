import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import {
  type ImportAccountDeps,
  type ImportAccountResult,
  importAccount,
  type WithStore,
} from '../../../src/import-from-api/move.ts';
import { createSourceClient } from '../../../src/import-from-api/source.ts';
import { WorkFile } from '../../../src/import-from-api/work-file.ts';
import { openStore } from '../../../src/store/open.ts';
import type { TransferProgress } from '../../../src/transfer/operator-report.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { openOptionsOf } from '../database/database.ts';
import { silentProgress } from './export-import.ts';

/** The source, credentials and database of an import, and options that differ from the defaults. */
export type ApiImportOptions = {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly database: string;
  /** The work file. The report and the id map are written next to it. */
  readonly work: string;
  readonly progress?: TransferProgress;
} & Partial<Pick<ImportAccountDeps, 'domain' | 'ownerEmail' | 'readings' | 'isStrict' | 'print'>>;

/** Imports an account through the API in this process, like the command line does. */
export async function importFromApi({
  base,
  headers,
  database,
  work: path,
  progress = silentProgress,
  ...given
}: ApiImportOptions): Promise<ImportAccountResult> {
  const createStoreOpener =
    (openAs: 'service' | 'command'): WithStore =>
    async (job) => {
      const store = await openStore({ ...openOptionsOf(database), openAs });
      return job(store).finally(() => store.close());
    };
  const print = given.print ?? (() => undefined);
  const work = new WorkFile(path);
  try {
    return await importAccount({
      domain: 'acme.test',
      ownerEmail: undefined,
      readings: 3,
      isStrict: false,
      ...given,
      source: createSourceClient({ sourceUrl: base, headers, clock: systemClock, requestsPerSecond: 1_000, print }),
      workFile: work,
      withStore: createStoreOpener('command'),
      withExclusiveStore: createStoreOpener('service'),
      clock: systemClock,
      progress,
      print,
      paths: { report: `${path}.report`, idMap: `${path}.ids` },
    });
  } finally {
    work.close();
  }
}

/**
 * Runs the import in a child process that kills itself with SIGKILL after `rowCount` rows of a stage. Returns the
 * signal that ended the process.
 */
export async function runKilledApiImport(
  importOptions: Omit<ApiImportOptions, 'progress' | 'print'>,
  stage: string,
  rowCount: number,
) {
  const script = fileURLToPath(new URL('./import-from-api-killed.ts', import.meta.url));
  const args = [script, JSON.stringify(importOptions), stage, String(rowCount)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [, signal] = await once(child, 'exit');
  return signal;
}

/** The data of a scripted service: lists and single records by resource. A test may change them while they are read. */
export type ScriptedService = {
  readonly lists: Record<string, unknown[]>;
  readonly singles: Record<string, unknown>;
  /** The maximum page size. */
  readonly maxPageSize?: number;
  /** Statuses of error responses, by resource. */
  readonly errorStatuses?: Readonly<Record<string, number>>;
  /** Returns the total that the service reports for a list; absent: the real length. */
  totalOf?(resourceType: string, length: number): unknown;
  /** Runs before each response; returns true if it has sent the response itself. */
  before?(url: URL, response: ServerResponse, request: IncomingMessage): boolean | undefined;
};

export type ScriptedSource = {
  readonly base: string;
  readonly requests: readonly { readonly address: string; readonly headers: IncomingMessage['headers'] }[];
};

/** Starts an HTTP server that imitates another implementation of the API. */
export async function startScriptedSource(context: Cleanup, script: ScriptedService): Promise<ScriptedSource> {
  const requests: { address: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://source.test');
    requests.push({ address: `${url.pathname}${url.search}`, headers: request.headers });
    if (script.before?.(url, response, request) !== true) sendScriptedResponse(script, url, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { base: `http://127.0.0.1:${port}`, requests };
}

function sendScriptedResponse(script: ScriptedService, url: URL, response: ServerResponse): void {
  const [status, body] = scriptedResponse(script, url);
  respond(response, status, body);
}

function scriptedResponse(script: ScriptedService, url: URL): [status: number, body: unknown] {
  const [, , resourceType = '', id] = url.pathname.split('/');
  const list = script.lists[resourceType];
  const refusedStatus = script.errorStatuses?.[resourceType];
  if (refusedStatus !== undefined) return [refusedStatus, { message: 'no' }];
  if (resourceType in script.singles) return [200, { data: script.singles[resourceType] }];
  if (list === undefined) return [404, { message: 'no such thing' }];
  if (id !== undefined) {
    const one = list.find((record) => Object.values(record as object).some((value) => String(value) === id));
    return one === undefined ? [404, {}] : [200, { data: one }];
  }
  const offset = Number(url.searchParams.get('offset') ?? 0);
  const limit = Math.min(Number(url.searchParams.get('limit') ?? 1_000), script.maxPageSize ?? 1_000);
  const total_records = script.totalOf?.(resourceType, list.length) ?? list.length;
  return [200, { paging: { offset, limit, total_records }, data: list.slice(offset, offset + limit) }];
}

export function respond(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

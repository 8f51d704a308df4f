import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A stretch of time, milliseconds on the clock that all processes of a machine share (see `moment`). */
export type Stretch = { readonly from: number; readonly until: number };

type Frame = { readonly functionName: string; readonly url: string };

/** What V8 writes: which function was at work at each look, and how long after the one before that was. */
export type Profile = {
  readonly startTime: number;
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** Where the time of a service goes, each by the files that belong to it; the first that fits has it. */
const areas: readonly (readonly [area: string, fits: (frame: Frame) => boolean])[] = [
  ['garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  [
    'sockets: system calls',
    ({ functionName, url }) => url === '' && /^(write|read|shutdown|readStart)/.test(functionName),
  ],
  ['SQLite', ({ url }) => url.endsWith('/src/store/sqlite-connection.ts')],
  [
    'PostgreSQL driver',
    ({ url }) => /node_modules\/(pg|pg-protocol|pg-pool|pg-types|pg-cloudflare|postgres-)/.test(url),
  ],
  ['queries built', ({ url }) => /node_modules\/kysely\//.test(url)],
  [
    'framework',
    ({ url }) => /node_modules\/(fastify|find-my-way|avvio|@fastify|fast-|light-my-request|secure-json)/.test(url),
  ],
  ['log', ({ url }) => /node_modules\/(pino|sonic-boom|thread-stream|quick-format)|\/src\/log/.test(url)],
  ['metrics', ({ url }) => /node_modules\/(prom-client|tdigest)|\/src\/metrics/.test(url)],
  ['telling: undici', ({ url }) => /node_modules\/undici\//.test(url)],
  ['telling: ours', ({ url }) => url.includes('/src/delivery/')],
  ['resources', ({ url }) => url.includes('/src/resources/')],
  ['transactions', ({ url }) => url.includes('/src/store/')],
  ['calls: ours', ({ url }) => /\/src\//.test(url)],
  ['hashes', ({ url }) => url.startsWith('node:internal/crypto')],
  ['Node: HTTP, sockets, streams, events', ({ url }) => url.startsWith('node:')],
];

const ELSE = 'everything else';

const areaOf = (frame: Frame): string => areas.find(([, fits]) => fits(frame))?.[0] ?? ELSE;

/** The profiles that processes have left in a folder of their own. */
export function readProfiles(folder: string): Profile[] {
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
}

/** How long each area was at work in a stretch of time, microseconds; what was waited is no work. */
export function busyIn(
  { startTime, nodes, samples, timeDeltas }: Profile,
  { from, until }: Stretch,
): Map<string, number> {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const spent = new Map<string, number>();
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    const took = timeDeltas[index] ?? 0;
    at += took;
    const frame = frames.get(id);
    if (frame === undefined || at < from * 1_000 || at > until * 1_000 || frame.functionName === '(idle)') continue;
    const area = areaOf(frame);
    spent.set(area, (spent.get(area) ?? 0) + took);
  }
  return spent;
}

import { createServer } from 'node:http';
import { reportUrl } from './baselines/where.ts';
import { monotonicNowMs } from './statistics.ts';

/** The message to this process that requests a report. */
export type ReportRequest = { readonly is: 'report' };

/**
 * Notifications since the last report: their number for each path, and the path, record id and arrival time of
 * each one.
 */
export type ArrivalReport = {
  readonly counts: Readonly<Record<string, number>>;
  readonly arrivals: readonly (readonly [path: string, record: string, at: number])[];
};

// A webhook receiver whose behavior depends on the path: /ok… and /count… respond with 200 immediately, /hang… never
// responds, /drip… sends a byte per second, and /slow/50… responds after 50 ms. Each arrival is recorded before the
// response; for /count… only the number of arrivals.
let counts: Record<string, number> = {};
let arrivals: [string, string, number][] = [];

const server = createServer((request, response) => {
  const at = monotonicNowMs();
  const path = request.url ?? '';
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    counts[path] = (counts[path] ?? 0) + 1;
    if (!path.startsWith('/count'))
      arrivals.push([path, body.slice(body.lastIndexOf('/') + 1, body.lastIndexOf('"')), at]);
    if (path.startsWith('/hang')) return;
    if (path.startsWith('/drip')) {
      const drip = setInterval(() => request.socket.write('H'), 1_000);
      request.socket.once('close', () => clearInterval(drip));
      return;
    }
    const [, afterMs] = /^\/slow\/(\d+)/.exec(path) ?? [];
    const respond = () => response.writeHead(200, { 'content-length': 0 }).end();
    if (afterMs === undefined) respond();
    else setTimeout(respond, Number(afterMs));
  });
  request.on('error', () => undefined);
});
server.keepAliveTimeout = 60_000;
process.on('message', () => {
  process.send?.({ counts, arrivals } satisfies ArrivalReport);
  counts = {};
  arrivals = [];
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => reportUrl(server));

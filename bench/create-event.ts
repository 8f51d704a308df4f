import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProcess } from '../demo/started.ts';
import { type Call, callsPerSecond } from './closed-loop.ts';
import { keepResults, median } from './measured.ts';

// How many events per second are created, durably and authenticated, beside a bare Fastify POST in the same run.
const CONNECTIONS = 64;
const ROUNDS = 5;
const ROUND_MS = 3_000;

const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
// With the log of a newcomer, in a file.
const log = openSync(join(folder, 'log'), 'w');
const service = await startProcess(
  { CARILLON_DATABASE: `sqlite:${join(folder, 'carillon.db')}`, CARILLON_PORT: '0', CARILLON_LOG_LEVEL: 'info' },
  log,
);
const floor = spawn(process.execPath, [fileURLToPath(new URL('./floor.ts', import.meta.url))], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [said] = await once(floor.stdout, 'data');
const floorUrl = String(said).trim().split(': ')[1]?.replace(/\/$/, '') ?? '';

const body = JSON.stringify({ event_name: 'Release', start_date: '20270101', due_date: '20270102' });
const json = { 'content-type': 'application/json' };
const ours: Call = {
  path: '/v2/events',
  headers: { ...json, domain: service.domain ?? '', key: service.key ?? '' },
  body,
  status: 201,
};
const bare: Call = { path: '/', headers: json, body, status: 201 };

await callsPerSecond(service.baseUrl, ours, CONNECTIONS, 1_000);
await callsPerSecond(floorUrl, bare, CONNECTIONS, 1_000);
const rounds: { floor: number; ours: number; ratio: number }[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const runs = [
    async () => ({ floor: await callsPerSecond(floorUrl, bare, CONNECTIONS, ROUND_MS) }),
    async () => ({ ours: await callsPerSecond(service.baseUrl, ours, CONNECTIONS, ROUND_MS) }),
  ];
  if (round % 2 === 1) runs.reverse();
  const measured = { floor: 0, ours: 0 };
  for (const run of runs) Object.assign(measured, await run());
  rounds.push({ ...measured, ratio: measured.ours / measured.floor });
  process.stdout.write(
    `round ${round + 1}: bare Fastify ${measured.floor.toFixed(0)}/s, POST /v2/events ${measured.ours.toFixed(0)}/s\n`,
  );
}
const summary = {
  connections: CONNECTIONS,
  floorPerSecond: Math.round(median(rounds.map((one) => one.floor))),
  eventsPerSecond: Math.round(median(rounds.map((one) => one.ours))),
  ratio: Number(median(rounds.map((one) => one.ratio)).toFixed(3)),
  rounds,
};
keepResults('create-event', summary);
process.stdout.write(
  `median: bare Fastify ${summary.floorPerSecond}/s, POST /v2/events ${summary.eventsPerSecond}/s, ratio ${summary.ratio}\n`,
);
floor.kill();
await service.stop('SIGTERM');
rmSync(folder, { recursive: true, force: true });

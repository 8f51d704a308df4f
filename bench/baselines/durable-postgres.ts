import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { reportUrl } from './where.ts';

// Baseline F2 on PostgreSQL: a node:http server that stores all waiting calls with one prepared insert, which is one
// transaction (group commit). It has no authentication, no validation and no notifications.

/** Maximum number of inserts that run concurrently. */
const GROUP_CONCURRENCY = 4;
const [, , connectionString = ''] = process.argv;
const pool = new pg.Pool({ connectionString, max: GROUP_CONCURRENCY });
await pool.query('create table if not exists floor (event_id bigserial primary key, name text, start text, due text)');
const text =
  'insert into floor (name, start, due) select * from unnest($1::text[], $2::text[], $3::text[]) returning event_id';

type EventInput = { readonly event_name: string; readonly start_date: string; readonly due_date: string };
type WaitingCall = { readonly event: EventInput; readonly response: ServerResponse };
let waitingCalls: WaitingCall[] = [];
let running = 0;

async function commitNextGroup(): Promise<void> {
  running += 1;
  // Calls that are read in this event-loop iteration share a commit.
  await new Promise<void>((resolve) => setImmediate(resolve));
  const group = waitingCalls;
  waitingCalls = [];
  if (group.length > 0) await insert(group);
  running -= 1;
  if (waitingCalls.length > 0) void commitNextGroup();
}

async function insert(group: readonly WaitingCall[]): Promise<void> {
  const columnOf = (name: keyof EventInput) => group.map(({ event }) => event[name]);
  const { rows } = await pool.query({
    name: 'insert',
    text,
    values: [columnOf('event_name'), columnOf('start_date'), columnOf('due_date')],
  });
  for (const [index, { event, response }] of group.entries()) {
    const body = JSON.stringify({ data: { event_id: String(rows[index]?.event_id), ...event } });
    response
      .writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  }
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => void parts.push(part));
  request.on('end', () => {
    waitingCalls.push({ event: JSON.parse(String(Buffer.concat(parts))), response });
    if (waitingCalls.length === 1 && running < GROUP_CONCURRENCY) void commitNextGroup();
  });
});
server.listen(0, '127.0.0.1', () => reportUrl(server));

import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { sayWhere } from './where.ts';

// Baseline F2 on PostgreSQL: a node:http server that stores all waiting calls with one prepared insert, which is one
// transaction (group commit). It has no authentication, no validation and no notifications.

/** Maximum number of inserts that run concurrently. */
const GROUP_CONCURRENCY = 4;
const [, , connectionString = ''] = process.argv;
const pool = new pg.Pool({ connectionString, max: GROUP_CONCURRENCY });
await pool.query('create table if not exists floor (event_id bigserial primary key, name text, start text, due text)');
const text =
  'insert into floor (name, start, due) select * from unnest($1::text[], $2::text[], $3::text[]) returning event_id';

type Event = { readonly event_name: string; readonly start_date: string; readonly due_date: string };
type Call = { readonly event: Event; readonly response: ServerResponse };
let waiting: Call[] = [];
let running = 0;

async function commit(): Promise<void> {
  running += 1;
  // Calls that are read in this event-loop iteration share a commit.
  await new Promise<void>((resolve) => setImmediate(resolve));
  const group = waiting;
  waiting = [];
  if (group.length > 0) await insert(group);
  running -= 1;
  if (waiting.length > 0) commit();
}

async function insert(group: readonly Call[]): Promise<void> {
  const of = (name: keyof Event) => group.map(({ event }) => event[name]);
  const { rows } = await pool.query({
    name: 'insert',
    text,
    values: [of('event_name'), of('start_date'), of('due_date')],
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
    waiting.push({ event: JSON.parse(String(Buffer.concat(parts))), response });
    if (waiting.length === 1 && running < GROUP_CONCURRENCY) commit();
  });
});
server.listen(0, '127.0.0.1', () => sayWhere(server));

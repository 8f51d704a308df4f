import { createServer } from 'node:http';
import pg from 'pg';
import { sayWhere } from './where.ts';

// F2 on PostgreSQL: node:http, and one prepared insert for each call, which is a transaction by itself, over as many
// connections as ours has. Nobody is asked who they are, nothing is checked, nobody is told.
const CONNECTIONS = 20;
const [, , connectionString = ''] = process.argv;
const pool = new pg.Pool({ connectionString, max: CONNECTIONS });
await pool.query('create table if not exists floor (event_id bigserial primary key, name text, start text, due text)');
const text = 'insert into floor (name, start, due) values ($1, $2, $3) returning event_id';

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => void parts.push(part));
  request.on('end', async () => {
    const event = JSON.parse(String(Buffer.concat(parts)));
    const { rows } = await pool.query({
      name: 'insert',
      text,
      values: [event.event_name, event.start_date, event.due_date],
    });
    const body = JSON.stringify({ data: { event_id: String(rows[0]?.event_id), ...event } });
    response
      .writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
});
server.listen(0, '127.0.0.1', () => sayWhere(server));

import { createServer, type ServerResponse } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { reportUrl } from './where.ts';

// Baseline F2 on SQLite: a node:http server with one prepared insert. All calls of one event-loop iteration share a
// commit. It has no authentication, no validation and no notifications. As in Carillon, a response is sent after the
// durable commit.
const [, , path = ''] = process.argv;
const database = new DatabaseSync(path);
database.exec('pragma journal_mode = wal');
database.exec('pragma synchronous = full');
database.exec('pragma wal_autocheckpoint = 4000');
database.exec('create table if not exists events (event_id integer primary key, name text, start text, due text)');
const insert = database.prepare('insert into events (name, start, due) values (?, ?, ?)');
const begin = database.prepare('begin immediate');
const commit = database.prepare('commit');

type EventInput = { readonly event_name: string; readonly start_date: string; readonly due_date: string };

let waitingCalls: [EventInput, ServerResponse][] = [];

function commitGroup(): void {
  const group = waitingCalls;
  waitingCalls = [];
  begin.run();
  const responses = group.map(([event, response]) => {
    const { lastInsertRowid } = insert.run(event.event_name, event.start_date, event.due_date);
    return { response, text: JSON.stringify({ data: { event_id: String(lastInsertRowid), ...event } }) };
  });
  commit.run();
  for (const { response, text } of responses) {
    response
      .writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  }
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => void parts.push(part));
  request.on('end', () => {
    waitingCalls.push([JSON.parse(String(Buffer.concat(parts))), response]);
    if (waitingCalls.length === 1) setImmediate(commitGroup);
  });
});
server.listen(0, '127.0.0.1', () => reportUrl(server));

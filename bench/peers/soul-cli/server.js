import Database from 'better-sqlite3';

/** With its defaults, no authentication and no limits; but what it answers is on disk, for which it does not wait by itself. */
export async function serve({ address, port }) {
  const database = new Database(address);
  database.exec(
    'create table events (event_id integer primary key, event_name text, start_date text, due_date text); create index events_by_start on events (start_date)',
  );
  database.close();
  process.argv.push('--database', address, '--port', String(port));
  await import('soul-cli/src/server.js');
  const { default: own } = await import('soul-cli/src/db/index.js');
  own.pragma('synchronous = full');
}

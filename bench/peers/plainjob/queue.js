import Database from 'better-sqlite3';
import { better, defineQueue, defineWorker } from 'plainjob';

const quiet = { error() {}, warn() {}, info() {}, debug() {} };

/** A worker works off one job after the other: there are as many as posts at once. */
export async function open({ address, post, atOnce }) {
  const database = new Database(address);
  database.pragma('journal_mode = wal');
  const queue = defineQueue({ connection: better(database), logger: quiet });
  // Its own pragmas come first: what is added has to be on disk.
  database.pragma('synchronous = full');
  for (let turn = 0; turn < atOnce; turn += 1) {
    void defineWorker('tell', ({ data }) => post(JSON.parse(data).number), {
      queue,
      logger: quiet,
      pollIntervall: 10,
    }).start();
  }
  return { add: async (number) => queue.add('tell', { number }) };
}

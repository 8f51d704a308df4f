import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FairLimits, FairSemaphore } from '../async/fair-semaphore.ts';
import { systemClock } from '../clock.ts';
import { CalendarError } from './line-reader.ts';
import type { ReadCalendar } from './parse.ts';
import type { ReadOptions } from './series.ts';

/**
 * How long a file may be read, and in how much memory: a rule of one line can ask for more than there is. It is the
 * machine's time that counts, whatever clock the service has.
 */
const TIMEOUT_MS = 15_000;
const MAX_MEMORY_MB = 384;

const READER = fileURLToPath(new URL(`./parser-process${extname(import.meta.url)}`, import.meta.url));

/** What is handed to the other process, and what comes back: how far it is, and at last what it has read. */
export type Task = { readonly options: ReadOptions; readonly longestMs: number };
export type Said =
  | { readonly line: number }
  | { readonly read: ReadCalendar }
  | { readonly fault: { readonly line: number; readonly message: string } }
  /** A fault of ours. */
  | { readonly broken: string };

/**
 * Each reader takes a core and its memory, so there are few of them. One account has at most half of the readers and a
 * quarter of the queue: files that take long delay those of their own account.
 */
export const READER_LIMITS: FairLimits = { maxActive: 2, maxActivePerGroup: 1, maxWaiting: 8, maxWaitingPerGroup: 2 };

const readers = new FairSemaphore<number>(READER_LIMITS);

/**
 * Reads a file in a process of its own: meanwhile everybody else is answered, and what does not come to an end is ended.
 * A thread would not do: when one runs out of memory, all of them end.
 *
 * @param fd an open file with its text in UTF-8: the other process reads it, so that it takes no memory of this one
 * @throws CalendarFault; the problem `overloaded` when too many files are waiting, of the account or of all
 */
export function parseInChildProcess(
  accountId: number,
  fd: number,
  options: ReadOptions,
  longestMs = TIMEOUT_MS,
): Promise<ReadCalendar> {
  return readers.run(accountId, () => readIn(fd, options, longestMs));
}

function readIn(fd: number, options: ReadOptions, longestMs: number): Promise<ReadCalendar> {
  return new Promise((resolve, reject) => {
    const reader = fork(READER, [], {
      serialization: 'advanced',
      // It needs nothing of what this process knows; on Windows nothing starts without this.
      env: process.env.SystemRoot === undefined ? {} : { SystemRoot: process.env.SystemRoot },
      execArgv: [`--max-old-space-size=${MAX_MEMORY_MB}`],
      stdio: [fd, 'ignore', 'ignore', 'ipc'],
    });
    let line = 1;
    const cancel = systemClock.after(longestMs, () => end('takes too long to work out'));
    function end(message: string): void {
      reject(new CalendarError(line, message));
      reader.kill('SIGKILL');
    }
    reader.on('message', (said: Said) => {
      if ('line' in said) line = said.line;
      else if ('read' in said) resolve(said.read);
      else if ('fault' in said) reject(new CalendarError(said.fault.line, said.fault.message));
      else reject(new Error(said.broken));
    });
    reader.once('error', reject);
    // After it has said what it has read, this changes nothing.
    reader.once('close', (code) => {
      cancel();
      // Without memory it is ended by a signal; where there are none, by this code.
      if (code === null || code === 134) end('takes too much memory to work out');
      else reject(new Error(`the process that reads calendars has ended with ${code}`));
    });
    reader.send({ options, longestMs } satisfies Task, (error) => {
      if (error !== null) reject(error);
    });
  });
}

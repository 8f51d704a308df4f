import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FairLimits, FairSemaphore } from '../async/fair-semaphore.ts';
import { systemClock } from '../clock.ts';
import { CalendarError } from './line-reader.ts';
import type { ReadCalendar } from './parse.ts';
import type { ReadOptions } from './series.ts';

/**
 * Limits for parsing a file, since a single recurrence rule can ask for unlimited work. Measured by the real clock, never
 * by a test's fake clock.
 */
const TIMEOUT_MS = 15_000;
const MAX_MEMORY_MB = 384;

const PARSER = fileURLToPath(new URL(`./parser-process${extname(import.meta.url)}`, import.meta.url));

/** The message to the child process, and its replies: progress, then the result. */
export type Task = { readonly options: ReadOptions; readonly longestMs: number };
export type ParserReply =
  | { readonly line: number }
  | { readonly read: ReadCalendar }
  | { readonly fault: { readonly line: number; readonly message: string } }
  /** An internal error. */
  | { readonly broken: string };

/**
 * Each parser uses a core and its own memory, so there are few of them. One account gets at most half of the parsers and a
 * quarter of the queue, so slow files only delay their own account.
 */
export const READER_LIMITS: FairLimits = { maxActive: 2, maxActivePerGroup: 1, maxWaiting: 8, maxWaitingPerGroup: 2 };

const parsers = new FairSemaphore<number>(READER_LIMITS);

/**
 * Parses a file in a child process, which keeps the event loop free and can be killed. A worker thread would not do: an
 * out-of-memory error in one ends the whole process.
 *
 * @param fd an open UTF-8 file; the child process reads it, so that it takes no memory of this one
 * @param longestMs timeout in milliseconds
 * @throws CalendarError; the problem `overloaded` if too many files of the account, or of all, are waiting
 */
export function parseInChildProcess(
  accountId: number,
  fd: number,
  options: ReadOptions,
  longestMs = TIMEOUT_MS,
): Promise<ReadCalendar> {
  return parsers.run(accountId, () => parseInChild(fd, options, longestMs));
}

function parseInChild(fd: number, options: ReadOptions, longestMs: number): Promise<ReadCalendar> {
  return new Promise((resolve, reject) => {
    const child = fork(PARSER, [], {
      serialization: 'advanced',
      // An empty environment keeps secrets from the child; Windows starts no process without SystemRoot.
      env: process.env.SystemRoot === undefined ? {} : { SystemRoot: process.env.SystemRoot },
      execArgv: [`--max-old-space-size=${MAX_MEMORY_MB}`],
      stdio: [fd, 'ignore', 'ignore', 'ipc'],
    });
    let line = 1;
    const cancel = systemClock.after(longestMs, () => end('takes too long to work out'));
    function end(message: string): void {
      reject(new CalendarError(line, message));
      child.kill('SIGKILL');
    }
    child.on('message', (reply: ParserReply) => {
      if ('line' in reply) line = reply.line;
      else if ('read' in reply) resolve(reply.read);
      else if ('fault' in reply) reject(new CalendarError(reply.fault.line, reply.fault.message));
      else reject(new Error(reply.broken));
    });
    child.once('error', reject);
    // Has no effect after a result was received.
    child.once('close', (code) => {
      cancel();
      // Out of memory, Node is ended by a signal; on systems without signals, with exit code 134.
      if (code === null || code === 134) end('takes too much memory to work out');
      else reject(new Error(`the calendar parser process ended with code ${code}`));
    });
    child.send({ options, longestMs } satisfies Task, (error) => {
      if (error !== null) reject(error);
    });
  });
}

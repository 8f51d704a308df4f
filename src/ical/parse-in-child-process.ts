import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FairSemaphore, type FairSemaphoreLimits } from '../async/fair-semaphore.ts';
import { systemClock } from '../clock.ts';
import { CalendarError } from './line-reader.ts';
import type { ParsedCalendar } from './parse.ts';
import type { ParseOptions } from './series.ts';

/**
 * Timeout for parsing a file, since a single recurrence rule can require unlimited work. It uses the real clock, never
 * a test's fake clock.
 */
const TIMEOUT_MS = 15_000;
/** Maximum heap size of the child process, in MiB. */
const MAX_MEMORY_MB = 384;

const PARSER = fileURLToPath(new URL(`./parser-process${extname(import.meta.url)}`, import.meta.url));

/** The message to the child process. */
export type ParseTask = { readonly options: ParseOptions; readonly longestMs: number };
/** The messages from the child process: the current line as progress, then the result or an error. */
export type ParserReply =
  | { readonly line: number }
  | { readonly read: ParsedCalendar }
  | { readonly fault: { readonly line: number; readonly message: string } }
  /** Stack or message of an internal error. */
  | { readonly internalError: string };

/**
 * Limits of concurrent parsers; each parser uses a core and its own memory. One account gets at most half of the
 * parsers and a quarter of the queue, so slow files only delay their own account.
 */
export const PARSER_LIMITS: FairSemaphoreLimits = {
  maxActive: 2,
  maxActivePerGroup: 1,
  maxWaiting: 8,
  maxWaitingPerGroup: 2,
};

const parsers = new FairSemaphore<number>(PARSER_LIMITS);

/**
 * Parses a file in a child process, which keeps the event loop free and can be killed. A worker thread is not enough,
 * because an out-of-memory error in a worker ends the whole process.
 *
 * @param fd an open UTF-8 file; the child process reads it, so that it takes no memory of this process
 * @param longestMs timeout in milliseconds
 * @throws CalendarError if the file is not a calendar or exceeds a limit; the problem `overloaded` if too many files of
 *   the account, or of all accounts, are waiting
 */
export function parseInChildProcess(
  accountId: number,
  fd: number,
  options: ParseOptions,
  longestMs = TIMEOUT_MS,
): Promise<ParsedCalendar> {
  return parsers.run(accountId, () => parseInChild(fd, options, longestMs));
}

function parseInChild(fd: number, options: ParseOptions, longestMs: number): Promise<ParsedCalendar> {
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
      else reject(new Error(reply.internalError));
    });
    child.once('error', reject);
    // If a result was received, the promise is already settled, and rejecting it has no effect.
    child.once('close', (code) => {
      cancel();
      // If Node runs out of memory, a signal ends it; on systems without signals, it exits with code 134.
      if (code === null || code === 134) end('takes too much memory to work out');
      else reject(new Error(`the calendar parser process ended with code ${code}`));
    });
    child.send({ options, longestMs } satisfies ParseTask, (error) => {
      if (error !== null) reject(error);
    });
  });
}

import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FairSemaphore, type FairSemaphoreLimits } from '../async/fair-semaphore.ts';
import { systemClock } from '../clock.ts';
import { CalendarError } from './line-reader.ts';
import type { ParsedCalendar } from './parse.ts';
import type { ParseOptions } from './series.ts';

/**
 * Timeout for parsing a file, since a single recurrence rule can require unlimited work. The timeout runs on the real
 * clock, also in tests that have a fake clock.
 */
const PARSE_TIMEOUT_MS = 15_000;
/**
 * Heap limits of the child process, in MiB. A file of 8 MiB with 49,900 events takes 140 MiB in all. With the default
 * young generation, it would take 60 MiB more and not be faster.
 */
const HEAP_LIMIT_FLAGS = ['--max-old-space-size=192', '--max-semi-space-size=2'];

const PARSER_PATH = fileURLToPath(new URL(`./parser-process${extname(import.meta.url)}`, import.meta.url));

/** The message to the child process. */
export type ParseTask = { readonly options: ParseOptions; readonly timeoutMs: number };
/**
 * The messages from the child process: the line that is being parsed (`line`), then the result (`read`), an error of
 * the file (`fault`) or an internal error.
 */
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

const parserSemaphore = new FairSemaphore<number>(PARSER_LIMITS);

/**
 * Parses an iCalendar file in a child process, with limits of time and memory. A child process keeps the event loop
 * free and can be killed. A worker thread is not enough, because an out-of-memory error in a worker ends the whole
 * process.
 *
 * @param fd an open UTF-8 file; the child process reads it, so that it takes no memory of this process
 * @param timeoutMs timeout for parsing, milliseconds
 * @throws CalendarError if the file is not a calendar or exceeds a limit; the problem `overloaded` if too many files of
 *   the account, or of all accounts, are waiting
 */
export function parseInChildProcess(
  accountId: number,
  fd: number,
  options: ParseOptions,
  timeoutMs = PARSE_TIMEOUT_MS,
): Promise<ParsedCalendar> {
  return parserSemaphore.runWithPermit(accountId, () => runParserProcess(fd, options, timeoutMs));
}

function runParserProcess(fd: number, options: ParseOptions, timeoutMs: number): Promise<ParsedCalendar> {
  return new Promise((resolve, reject) => {
    const child = fork(PARSER_PATH, [], {
      serialization: 'advanced',
      // An empty environment keeps secrets from the child; Windows starts no process without SystemRoot.
      env: process.env.SystemRoot === undefined ? {} : { SystemRoot: process.env.SystemRoot },
      execArgv: HEAP_LIMIT_FLAGS,
      stdio: [fd, 'ignore', 'ignore', 'ipc'],
    });
    let currentLineNumber = 1;
    const cancelTimeout = systemClock.after(timeoutMs, () => abortParsing('takes too long to work out'));
    function abortParsing(message: string): void {
      reject(new CalendarError(currentLineNumber, message));
      child.kill('SIGKILL');
    }
    child.on('message', (reply: ParserReply) => {
      if ('line' in reply) currentLineNumber = reply.line;
      else if ('read' in reply) resolve(reply.read);
      else if ('fault' in reply) reject(new CalendarError(reply.fault.line, reply.fault.message));
      else reject(new Error(reply.internalError));
    });
    child.once('error', reject);
    // If a result was received, the promise is already settled, and rejecting it has no effect.
    child.once('close', (exitCode) => {
      cancelTimeout();
      // If Node runs out of memory, a signal ends it; on systems without signals, it exits with code 134.
      if (exitCode === null || exitCode === 134) abortParsing('takes too much memory to work out');
      else reject(new Error(`the calendar parser process ended with code ${exitCode}`));
    });
    child.send({ options, timeoutMs } satisfies ParseTask, (error) => {
      if (error !== null) reject(error);
    });
  });
}

import { fstatSync, readSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { CalendarError } from './line-reader.ts';
import { parseCalendar } from './parse.ts';
import type { ParserReply, ParseTask } from './parse-in-child-process.ts';

// This child process parses one file. It receives the task, sends the result and exits.
process.once('message', (task: ParseTask) => {
  // The parent kills this process at the timeout. The longer timeout here is for the case that the parent has died.
  const reply: ParserReply = runInNewContext('run()', { run: () => parseStdin(task) }, { timeout: 2 * task.timeoutMs });
  // Disconnect only after the reply was sent.
  process.send?.(reply, undefined, undefined, () => process.disconnect?.());
});

/** The parent passes the file as standard input. */
const STDIN = 0;

/** Reads a file from its start, independent of the shared file position. */
function readFileText(fd: number): string {
  const bytes = Buffer.alloc(fstatSync(fd).size);
  for (let offset = 0; offset < bytes.length; ) {
    const bytesRead = readSync(fd, bytes, offset, bytes.length - offset, offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
  }
  return bytes.toString();
}

function parseStdin({ options }: ParseTask): ParserReply {
  try {
    return {
      read: parseCalendar(readFileText(STDIN), options, (line) => process.send?.({ line } satisfies ParserReply)),
    };
  } catch (error) {
    if (error instanceof CalendarError) return { fault: { line: error.lineNumber, message: error.message } };
    return { internalError: error instanceof Error ? String(error.stack) : String(error) };
  }
}

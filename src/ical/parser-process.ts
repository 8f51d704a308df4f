import { fstatSync, readSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { CalendarError } from './line-reader.ts';
import { readCalendar } from './parse.ts';
import type { Said, Task } from './parse-in-child-process.ts';

/** The process that reads one file: it is told which, says what is in it, and ends. */
process.once('message', (task: Task) => {
  // Whoever waits for it ends it; should they be gone, nobody else would.
  const said: Said = runInNewContext('answer()', { answer: () => answerTo(task) }, { timeout: 2 * task.longestMs });
  // Only when all of it is on its way.
  process.send?.(said, undefined, undefined, () => process.disconnect?.());
});

/** Its standard input is the file. */
const STDIN = 0;

/** The text of a file from its beginning on, wherever another process that has it open has come to. */
function textOf(fd: number): string {
  const bytes = Buffer.alloc(fstatSync(fd).size);
  for (let at = 0; at < bytes.length; ) {
    const read = readSync(fd, bytes, at, bytes.length - at, at);
    if (read === 0) break;
    at += read;
  }
  return bytes.toString();
}

function answerTo({ options }: Task): Said {
  try {
    return { read: readCalendar(textOf(STDIN), options, (line) => process.send?.({ line } satisfies Said)) };
  } catch (error) {
    if (error instanceof CalendarError) return { fault: { line: error.line, message: error.message } };
    return { broken: error instanceof Error ? String(error.stack) : String(error) };
  }
}

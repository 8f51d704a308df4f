import { CalendarFault } from './lines.ts';
import { readCalendar } from './read.ts';
import type { Said, Task } from './reading.ts';

/** The process that reads one file: it is told which, says what is in it, and ends. */
process.once('message', (task: Task) => {
  const said = answerTo(task);
  // Only when all of it is on its way.
  process.send?.(said, undefined, undefined, () => process.disconnect?.());
});

function answerTo({ text, options }: Task): Said {
  try {
    return { read: readCalendar(text, options, (line) => process.send?.({ line } satisfies Said)) };
  } catch (error) {
    if (error instanceof CalendarFault) return { fault: { line: error.line, message: error.message } };
    throw error;
  }
}

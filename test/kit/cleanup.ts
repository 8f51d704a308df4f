/** What tidies up behind a test, or behind a file of them: `t`, or `{ after }` of node:test. */
export type Cleanup = { after(close: () => unknown): void };

/** What is opened for some of the work is closed with it, and not at the end of the whole. */
export async function within<T>(work: (context: Cleanup) => Promise<T>): Promise<T> {
  const endings: Parameters<Cleanup['after']>[0][] = [];
  try {
    return await work({ after: (close) => void endings.push(close) });
  } finally {
    for (const close of endings.reverse()) await close();
  }
}

const stacks = new WeakMap<Cleanup, (() => unknown)[]>();

/** When the test ends, what was opened last is closed first; the test runner itself would go the other way round. */
export function atEnd(context: Cleanup, close: () => unknown): void {
  const known = stacks.get(context);
  if (known !== undefined) {
    known.push(close);
    return;
  }
  const stack = [close];
  stacks.set(context, stack);
  context.after(async () => {
    const faults: unknown[] = [];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      try {
        await next();
      } catch (error) {
        // What was opened before is closed nevertheless, or the process would never end.
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  });
}

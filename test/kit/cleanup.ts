/** Registers functions that run at the end of a test (pass `t`) or of a file (pass `{ after }` of node:test). */
export type Cleanup = { after(close: () => unknown): void };

/** Runs `work`, and then the cleanups that it has registered, before the end of the test. */
export async function withCleanup<T>(work: (context: Cleanup) => Promise<T>): Promise<T> {
  const cleanups: Parameters<Cleanup['after']>[0][] = [];
  try {
    return await work({ after: (close) => void cleanups.push(close) });
  } finally {
    for (const close of cleanups.reverse()) await close();
  }
}

/** The functions to run at the end of each test or file, in the order of registration. */
const cleanupStacks = new WeakMap<Cleanup, (() => unknown)[]>();

/**
 * Runs `close` when the test ends. The function that was registered last runs first, whereas node:test runs them in the
 * order of registration.
 */
export function atEnd(context: Cleanup, close: () => unknown): void {
  const existingStack = cleanupStacks.get(context);
  if (existingStack !== undefined) {
    existingStack.push(close);
    return;
  }
  const stack = [close];
  cleanupStacks.set(context, stack);
  context.after(async () => {
    const errors: unknown[] = [];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      try {
        await next();
      } catch (error) {
        // Run the remaining functions despite the error, or the process would never exit.
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  });
}

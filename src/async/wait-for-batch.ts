/** Turns of the event loop that brought nothing more, after which all is here; a turn without work costs microseconds. */
const IDLE_ITERATIONS = 2;

/**
 * Lets sockets be read for as long as that brings more of what is counted, and no longer than until there is so much as
 * can be done together: the busier it is, the more there is. One turn at least: those who were answered must be able to
 * hear it.
 */
export async function waitForBatch(count: () => number, maxCount: number): Promise<void> {
  let quiet = 0;
  do {
    const known = count();
    await new Promise<void>((resolve) => setImmediate(resolve));
    quiet = count() > known ? 0 : quiet + 1;
  } while (quiet < IDLE_ITERATIONS && count() < maxCount);
}

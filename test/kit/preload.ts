import { createRequire } from 'node:module';

// Preloaded into every test file, before the runner. To attribute uncaught errors to tests, node:test tracks every
// promise. This takes 5 % to 33 % of the time of a test with a service, and most in tests with a browser. Without
// tracking, an uncaught error fails its file. `after()` then belongs to the file and `t.after()` to the test of `t`,
// regardless of the function that calls it.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  const hooks: typeof import('node:async_hooks') = createRequire(import.meta.url)('node:async_hooks');
  const { createHook } = hooks;
  hooks.createHook = (callbacks) => {
    hooks.createHook = createHook;
    const hook = createHook(callbacks);
    hook.enable = () => hook;
    return hook;
  };
  await import('node:test');
}

/** Closes what all tests of a process share. */
const closers: (() => unknown)[] = [];

/** Runs `close` after all tests of this process. `after` runs at the end of a file, several of which may share it. */
export function closeAtProcessEnd(close: () => unknown): void {
  closers.push(close);
}

// Preloaded into every test file. Without a pending handle, Node would exit in the middle of a test that waits for an
// event that never comes, and skip the rest of the file. With the interval, such a test reaches its timeout and is
// reported. The runner itself has no interval, because a hook there would change its exit code.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  const { after } = await import('node:test');
  const keepAlive = setInterval(() => undefined, 60_000);
  after(async () => {
    clearInterval(keepAlive);
    for (const close of closers) await close();
  });
}

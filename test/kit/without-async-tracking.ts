import { createRequire } from 'node:module';

// Preloaded into every test file, before the runner. To attribute uncaught errors to tests, node:test tracks
// every promise, which takes 5 % to 33 % of the time of a test with a service, most with a browser. Without
// tracking such an error fails the file, and hooks belong to the file or to the test context, regardless of the
// caller.
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

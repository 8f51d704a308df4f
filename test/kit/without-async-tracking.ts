import { createRequire } from 'node:module';

// Preloaded into every file of tests, before the runner. To name the test that an error belongs to which nobody caught, it
// follows every promise of the process from where it was made to where it is collected: a twentieth to a third of what a
// test takes in which a service works, most where a browser is driven. Without that such an error is the file's, which
// fails; and hooks belong to the file or to the context of a test, whoever calls them.
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
